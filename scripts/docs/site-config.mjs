import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { linksOfRepository, readRepository, toAnchor, useSiteLinks } from './links.mjs';
import { listOthers, listPages, placeOf, readMenu } from './pages.mjs';

/** The project's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The folder of the built site. */
export const siteFolder = process.env['CPUSETD_SITE'] ?? join(root, 'dist/site');

const repository = readRepository(root);

/** The site: the sources stay as they are, and nothing is asked of the network by a page of it. */
export const siteConfig = defineConfig({
  title: 'cpusetd',
  description: 'Exclusive CPUs for Kubernetes containers, outside the kubelet',
  lang: 'en',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  base: process.env['CPUSETD_SITE_BASE'] ?? '/',
  srcDir: root,
  outDir: siteFolder,
  cacheDir: join(root, 'node_modules/.cache/vitepress'),
  srcExclude: listOthers(root),
  rewrites: Object.fromEntries(listPages(root).map((page) => [page, placeOf(page)])),
  ignoreDeadLinks: linksOfRepository,
  markdown: {
    anchor: { slugify: toAnchor },
    config: (markdown) => {
      useSiteLinks(markdown, root);
      useTextAsItIs(markdown);
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: readMenu(root),
    outline: [2, 3],
    ...(repository && { socialLinks: [{ icon: 'github', link: repository }] }),
  },
});

/**
 * Braces of a text are no template of Vue, and PromQL is a language whose words nobody here colours.
 * @param {import('vitepress').MarkdownRenderer} markdown
 */
function useTextAsItIs(markdown) {
  markdown.core.ruler.push('languages', (state) => {
    for (const token of state.tokens) if (token.type === 'fence' && token.info === 'promql') token.info = 'txt';
  });
  /** @param {string} [text] */
  const escape = (text = '') => markdown.utils.escapeHtml(text).replaceAll('{', '&#123;');
  markdown.renderer.rules.text = (tokens, index) => escape(tokens[index]?.content);
  markdown.renderer.rules.code_inline = (tokens, index) => `<code>${escape(tokens[index]?.content)}</code>`;
}
