export type { PluginHandler } from './plugin-handler.ts';
export { PluginWatcher, type PluginWatcherComponents, type PluginWatcherOptions } from './plugin-watcher.ts';
