export { runNriPlugin, type NriPluginOptions } from './run-nri-plugin';
export type { RuntimeHandler } from './nri-session';
export type { PluginPhase, PluginState } from './plugin-state';
export type { RuntimeInfo } from './messages/protocol';
