export { runNriPlugin, type NriPluginOptions } from './run-nri-plugin';
export type { PluginState } from './plugin-state';
