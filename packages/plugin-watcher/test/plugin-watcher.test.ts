import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { GrpcServer, type Init, service } from '@node-agent/grpc';
import { nodeFileSystem } from '@node-agent/host';
import { MetricsRegistry, silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registrationRpcs } from '../src/generated/services.ts';
import type { PluginInfo } from '../src/generated/types.ts';
import {
  type PluginHandler,
  PluginWatcher,
  type PluginWatcherComponents,
  type PluginWatcherOptions,
} from '../src/index.ts';

let directory: string;
let stop: AbortController;
let running: Promise<void>;
let calls: string[];
let servers: GrpcServer[];

beforeEach(() => {
  directory = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'plugins-')), 'plugins_registry');
  calls = [];
  servers = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  for (const server of servers) server.close();
  fs.rmSync(path.dirname(directory), { recursive: true });
});

const recording: PluginHandler = {
  validate: (name, _endpoint, versions) => (versions.includes('v1') ? undefined : `${name} has not got v1`),
  register: async (name, endpoint) => void calls.push(`register ${name} ${path.basename(endpoint)}`),
  deregister: (name, endpoint) => void calls.push(`deregister ${name} ${path.basename(endpoint)}`),
};

function start(
  handler: Partial<PluginHandler> = {},
  more: Partial<PluginWatcherComponents> = {},
  options: Partial<PluginWatcherOptions> = {},
): void {
  stop = new AbortController();
  const handlers = new Map([['DevicePlugin', { ...recording, ...handler }]]);
  const components = { fs: nodeFileSystem, ...more };
  running = new PluginWatcher(components, { directory, handlers, ...options }).start(stop.signal);
}

/** Starts a plugin, and returns the registration results that it receives. */
async function plugin(
  name: string,
  info: Init<PluginInfo> = {},
  answer = async () => ({}),
): Promise<{ server: GrpcServer; told: string[] }> {
  const told: string[] = [];
  const socketPath = path.join(directory, name);
  fs.mkdirSync(path.dirname(socketPath), { recursive: true });
  const server = new GrpcServer({
    socketPath,
    services: [
      service(registrationRpcs, {
        getInfo: async () => ({ type: 'DevicePlugin', name: 'example.com/led', supportedVersions: ['v1'], ...info }),
        notifyRegistrationStatus: async ({ pluginRegistered, error }) => {
          told.push(pluginRegistered ? 'registered' : error);
          return await answer();
        },
      }),
    ],
  });
  await server.start();
  servers.push(server);
  return { server, told };
}

describe('PluginWatcher', () => {
  it('registers plugins whose sockets exist, appear later, or are in subdirectories', async () => {
    const first = await plugin('first.sock');
    start();
    await expect.poll(() => first.told).toEqual(['registered']);
    const second = await plugin('vendor/second.sock', { name: 'example.com/fan', endpoint: '/run/fan.sock' });
    await expect.poll(() => second.told).toEqual(['registered']);
    expect(calls).toEqual(['register example.com/led first.sock', 'register example.com/fan fan.sock']);
  });

  it('deregisters a plugin whose socket is gone, and registers it again with a new socket', async () => {
    start();
    const { server, told } = await plugin('p.sock');
    await expect.poll(() => told).toEqual(['registered']);
    server.close();
    await expect.poll(() => calls.at(-1)).toBe('deregister example.com/led p.sock');
    const again = await plugin('p.sock');
    await expect.poll(() => again.told).toEqual(['registered']);
  });

  it.each<[Init<PluginInfo>, string]>([
    [{ type: 'Toaster' }, 'RegisterPlugin error -- no handler registered for plugin type: Toaster at socket '],
    [
      { supportedVersions: ['v0'] },
      'RegisterPlugin error -- plugin validation failed with err: example.com/led has not got v1',
    ],
  ])('notifies a plugin why it is not used: %j', async (info, words) => {
    start();
    const { told } = await plugin('p.sock', info);
    await expect.poll(() => told[0]).toContain(words);
    expect(calls).toEqual([]);
  });

  it.each<[Init<PluginInfo>, RegExp]>([
    [
      { type: 'x'.repeat(1e6) },
      /^RegisterPlugin error -- no handler registered for plugin type: x{317}\.\.\. at socket /,
    ],
    [
      { name: 'x'.repeat(1e6), supportedVersions: ['v0'] },
      /^RegisterPlugin error -- plugin validation failed with err: x+\.\.\.$/,
    ],
    [
      { endpoint: 'x'.repeat(1e6) },
      /^RegisterPlugin error -- plugin registration failed with err: no socket at x+\.\.\.$/,
    ],
    [{ name: 'x'.repeat(1e6) }, /^registered$/],
  ])('W6: truncates a megabyte of plugin info in logs and notifications: case %#', async (info, words) => {
    const logged: string[] = [];
    const log = (fields: object, message: string): void => void logged.push(`${message}: ${JSON.stringify(fields)}`);
    const logger = { ...silentLogger, info: log, error: log };
    const register = async (_name: string, endpoint: string): Promise<void> => {
      if (endpoint.startsWith('x')) throw new Error(`no socket at ${endpoint}`);
    };
    start({ register }, { logger });
    const { told } = await plugin('p.sock', info);
    await expect.poll(() => told[0]).toMatch(words);
    await expect.poll(() => logged.length).toBe(1);
    expect([...told, ...logged].filter(({ length }) => length > 1_200)).toEqual([]);
  });

  it('retries a failed registration', async () => {
    let fails = true;
    start({
      register: async () => {
        if (fails) throw new Error('not now');
      },
    });
    const { told } = await plugin('p.sock');
    await expect.poll(() => told).toEqual(['RegisterPlugin error -- plugin registration failed with err: not now']);
    fails = false;
    await expect.poll(() => told.at(-1), { timeout: 5_000 }).toBe('registered');
  });

  it('W6: a plugin that hangs delays no other; other files and names with a dot are ignored', async () => {
    fs.mkdirSync(directory, { recursive: true });
    fs.writeFileSync(path.join(directory, 'a-file'), '');
    const hidden = await plugin('.hidden.sock');
    start({ register: (name) => (name === 'hangs' ? new Promise(() => {}) : Promise.resolve()) });
    await plugin('a.sock', { name: 'hangs' });
    const other = await plugin('b.sock');
    await expect.poll(() => other.told).toEqual(['registered']);
    expect(hidden.told).toEqual([]);
  });

  it('queries a new socket at a path only after the former plugin was deregistered', async () => {
    const ends: (() => void)[] = [];
    start({
      // The plugin's handler ignores its abort signal.
      register: async (_name, endpoint) => {
        calls.push(`register ${path.basename(endpoint)}`);
        if (ends.length === 0) await new Promise<void>((resolve) => ends.push(resolve));
      },
    });
    const { server } = await plugin('p.sock');
    await expect.poll(() => calls).toEqual(['register p.sock']);
    server.close();
    const again = await plugin('p.sock');
    await new Promise((resolve) => setTimeout(resolve, 300));
    ends[0]?.();
    await expect.poll(() => again.told).toEqual(['registered']);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(calls).toEqual(['register p.sock', 'deregister example.com/led p.sock', 'register p.sock']);
  });

  it('registers a plugin whose socket is reached through a link, and notices when the socket is gone', async () => {
    fs.mkdirSync(directory, { recursive: true });
    let failed = 0;
    const stat = async (link: string) => {
      if (calls.length !== 1 || failed > 0) return await nodeFileSystem.stat(link);
      failed++;
      throw Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
    };
    start({}, { foreignFiles: { stat } });
    fs.symlinkSync('../elsewhere.sock', path.join(directory, 'p.sock'));
    fs.symlinkSync('nowhere', path.join(directory, 'q.sock'));
    const { server, told } = await plugin('../elsewhere.sock');
    fs.renameSync(path.join(directory, 'q.sock'), path.join(directory, 'r.sock'));
    await expect.poll(() => told).toEqual(['registered']);
    fs.renameSync(path.join(directory, 'r.sock'), path.join(directory, 'q.sock'));
    await expect.poll(() => failed).toBe(1);
    fs.renameSync(path.join(directory, 'q.sock'), path.join(directory, 'r.sock'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(calls).toEqual(['register example.com/led p.sock']);
    server.close();
    fs.renameSync(path.join(directory, 'r.sock'), path.join(directory, 'q.sock'));
    await expect.poll(() => calls.at(-1)).toBe('deregister example.com/led p.sock');
  });

  it('W6: resolves a link whose target never answers once, without delaying plugins', async () => {
    const asked: string[] = [];
    const stat = (link: string): Promise<never> => {
      asked.push(path.basename(link));
      return new Promise(() => {});
    };
    fs.mkdirSync(directory, { recursive: true });
    fs.symlinkSync('/net/gone', path.join(directory, 'a.sock'));
    start({}, { foreignFiles: { stat } });
    const first = await plugin('b.sock', { name: 'example.com/b' });
    await expect.poll(() => first.told).toEqual(['registered']);
    const second = await plugin('c.sock', { name: 'example.com/c' });
    await expect.poll(() => second.told).toEqual(['registered']);
    expect(asked).toEqual(['a.sock']);
  });

  it('counts existing sockets and registered plugins', async () => {
    const metrics = new MetricsRegistry();
    start({}, { metrics });
    const { server, told } = await plugin('p.sock');
    await plugin('q.sock', { type: 'Toaster' });
    await expect.poll(() => told).toEqual(['registered']);
    const series = (): string[] => metrics.text().match(/^plugin_manager_total_plugins.*$/gm) ?? [];
    const of = (name: string, state: string): string =>
      `plugin_manager_total_plugins{socket_path="${directory}/${name}",state="${state}"} 1`;
    const ofQ = of('q.sock', 'desired_state_of_world');
    await expect
      .poll(() => series().sort())
      .toEqual([of('p.sock', 'actual_state_of_world'), of('p.sock', 'desired_state_of_world'), ofQ]);
    server.close();
    await expect.poll(series).toEqual([ofQ]);
  });

  it('W6: keeps plugins if the directory temporarily cannot be read', async () => {
    let isBroken = false;
    const readdir: typeof nodeFileSystem.readdir = async (path) => {
      if (isBroken && path.endsWith('/vendor'))
        throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
      return await nodeFileSystem.readdir(path);
    };
    start({}, { fs: { ...nodeFileSystem, readdir } });
    const first = await plugin('vendor/first.sock');
    await expect.poll(() => first.told).toEqual(['registered']);
    isBroken = true;
    const second = await plugin('second.sock', { name: 'example.com/fan' });
    await expect.poll(() => second.told).toEqual(['registered']);
    expect(calls).toEqual(['register example.com/led first.sock', 'register example.com/fan second.sock']);
    isBroken = false;
    first.server.close();
    await expect.poll(() => calls.at(-1)).toBe('deregister example.com/led first.sock');
  });

  it('leaves plugins registered when the kubelet stops', async () => {
    start();
    const { told } = await plugin('p.sock');
    await expect.poll(() => told).toEqual(['registered']);
    stop.abort();
    await running;
    expect(calls).toEqual(['register example.com/led p.sock']);
  });

  it('W3: rejects a relative directory, and accepts a trailing slash', async () => {
    const handlers = new Map([['DevicePlugin', recording]]);
    const components = { fs: nodeFileSystem };
    expect(() => new PluginWatcher(components, { directory: 'plugins', handlers })).toThrow(
      'directory: must be an absolute path, not "plugins"',
    );
    stop = new AbortController();
    const endpoints: string[] = [];
    const handler: PluginHandler = { ...recording, register: async (_name, endpoint) => void endpoints.push(endpoint) };
    const options = { directory: `${directory}/`, handlers: new Map([['DevicePlugin', handler]]) };
    running = new PluginWatcher(components, options).start(stop.signal);
    await plugin('p.sock');
    await expect.poll(() => endpoints).toEqual([path.join(directory, 'p.sock')]);
  });

  it('leaves a plugin registered if the kubelet stops during its notification', async () => {
    start();
    let isReported = false;
    await plugin('p.sock', {}, () => {
      isReported = true;
      return new Promise(() => {});
    });
    await expect.poll(() => isReported).toBe(true);
    stop.abort();
    await running;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(calls).toEqual(['register example.com/led p.sock']);
  });

  it('W6: limits the rate of searches in a continuously changing directory', async () => {
    let looks = 0;
    stop = new AbortController();
    const hinting: PluginWatcherComponents['fs'] = {
      ...nodeFileSystem,
      readdir: (path) => {
        looks += 1;
        return nodeFileSystem.readdir(path);
      },
      watch: async (path, onChange, signal) => {
        const churn = setInterval(() => onChange(path, 'entry'), 1);
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        clearInterval(churn);
      },
    };
    running = new PluginWatcher({ fs: hinting }, { directory, handlers: new Map() }).start(stop.signal);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(looks).toBeGreaterThan(1);
    expect(looks).toBeLessThan(15);
  });

  it('W6: sockets above the limit wait until one is gone, without affecting known ones', async () => {
    const errors: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) };
    fs.mkdirSync(directory, { recursive: true });
    start({}, { logger }, { maxSockets: 2 });
    const first = await plugin('b.sock', { name: 'example.com/b' });
    await expect.poll(() => first.told).toEqual(['registered']);
    const second = await plugin('c.sock', { name: 'example.com/c' });
    await expect.poll(() => second.told).toEqual(['registered']);
    const third = await plugin('a.sock', { name: 'example.com/a' });
    await expect.poll(() => errors).toEqual([{ found: 3, maxSockets: 2 }]);
    expect(third.told).toEqual([]);
    first.server.close();
    await expect.poll(() => third.told).toEqual(['registered']);
    expect(second.told).toEqual(['registered']);
    expect(calls).toEqual([
      ...['register example.com/b b.sock', 'register example.com/c c.sock'],
      ...['deregister example.com/b b.sock', 'register example.com/a a.sock'],
    ]);
    expect(() => new PluginWatcher({ fs: nodeFileSystem }, { directory, handlers: new Map(), maxSockets: 0 })).toThrow(
      'maxSockets must be a whole number of at least 1, not 0',
    );
  });

  it('W6: limits the number of plugins queried at once, and queries each in turn', async () => {
    const waiting: (() => void)[] = [];
    const register = (name: string): Promise<void> =>
      new Promise((resolve) => {
        calls.push(name);
        waiting.push(resolve);
      });
    start({ register }, {}, { maxAsked: 2 });
    for (const name of ['a', 'b', 'c']) await plugin(`${name}.sock`, { name });
    await expect.poll(() => calls.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(calls).toHaveLength(2);
    for (const resolve of waiting) resolve();
    await expect.poll(() => calls.toSorted()).toEqual(['a', 'b', 'c']);
    waiting.at(-1)?.();
  });

  it('labels the directory for containers once, and continues if that fails', async () => {
    const labelled: string[] = [];
    const labelForContainers = async (path: string): Promise<void> => {
      expect(fs.existsSync(path)).toBe(true);
      labelled.push(path);
      throw new Error('not supported');
    };
    start({}, { labelForContainers });
    const { told } = await plugin('p.sock');
    await expect.poll(() => told).toEqual(['registered']);
    expect(labelled).toEqual([directory]);
  });
});
