// From packages/plugin-watcher/README.md, which explains the program.
import { mkdtemp, rm } from 'node:fs/promises';
import { nodeFileSystem } from '@node-agent/host';
import { type PluginHandler, PluginWatcher } from '@node-agent/plugin-watcher';

const printer: PluginHandler = {
  validate: (_name, _endpoint, versions) => (versions.includes('v1') ? undefined : 'v1 is what is spoken here'),
  register: async (name, endpoint) => console.log(`${name} serves at ${endpoint}`),
  deregister: (name) => console.log(`${name} is gone`),
};
const temporary = await mkdtemp('/tmp/plugins-');
const directory = `${temporary}/plugins_registry`;
const watcher = new PluginWatcher({ fs: nodeFileSystem }, { directory, handlers: new Map([['CSIPlugin', printer]]) });
const stop = new AbortController();
const running = watcher.start(stop.signal);
await watcher.ready();
console.log(`watching ${directory} for sockets`);
stop.abort();
await running;
await rm(temporary, { recursive: true });
