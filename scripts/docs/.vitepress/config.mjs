// VitePress looks for its configuration in this folder.
export { siteConfig as default } from '../site-config.mjs';
