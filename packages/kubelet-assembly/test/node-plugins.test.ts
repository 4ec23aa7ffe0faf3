import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GrpcServer } from '@node-agent/grpc';
import { nodeFileSystem } from '@node-agent/host';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import { silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { nodePlugins } from '../src/node-plugins.ts';

type Devices = NonNullable<Parameters<typeof nodePlugins>[3]['devices']>;

const GPU = 'example.com/gpu';
let directory: string;
let calls: string[];
let ends: (() => unknown)[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'plugins-'));
  calls = [];
  ends = [() => rm(directory, { recursive: true })];
});
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
});

const devices: Devices = {
  validatePlugin: (resource, versions) => (versions.includes('v1beta1') ? undefined : `${resource} is too old`),
  registerPlugin: async (resource) => void calls.push(`register ${resource}`),
  deregisterPlugin: (resource) => void calls.push(`deregister ${resource}`),
};

/** Looks for plugins, those of devices by `devices`. */
function start(of: Devices | undefined, logger = silentLogger): void {
  const child = (component: string) => ({ logger: logger.child({ component }) }) as never;
  const labelForContainers = async (path: string): Promise<void> => void calls.push(`label ${path}`);
  const ports = { fs: nodeFileSystem, foreignFiles: nodeFileSystem, labelForContainers } as never;
  const watcher = nodePlugins(child, ports, { pluginsDirectory: directory }, { devices: of });
  const ending = new AbortController();
  const running = watcher?.start(ending.signal);
  ends.push(async () => {
    ending.abort();
    await running;
  });
}

/** A plugin of devices in the directory. @returns what it is told of its registration, and its end */
async function plug(version: string) {
  const told: (string | undefined)[] = [];
  const found = {
    type: 'DevicePlugin',
    name: GPU,
    versions: [version],
    onStatus: (error?: string) => told.push(error),
  };
  const server = new GrpcServer({ socketPath: join(directory, 'gpu.sock'), services: [foundPlugin(found)] });
  await server.start();
  ends.push(() => server.close());
  return { told, remove: () => rm(join(directory, 'gpu.sock'), { force: true }) };
}

describe('a plugin that is found by its socket', () => {
  test('is the device manager’s while its socket is there', async () => {
    start(devices);
    const { told, remove } = await plug('v1beta1');
    await vi.waitFor(() => expect(told).toEqual([undefined]));
    expect(calls).toEqual([`label ${directory}`, `register ${GPU}`]);
    await remove();
    await vi.waitFor(() => expect(calls.at(-1)).toBe(`deregister ${GPU}`));
  });

  test('is told why it is not used', async () => {
    start(devices);
    const { told } = await plug('v1alpha');
    await vi.waitFor(() => expect(told[0]).toContain(`${GPU} is too old`));
    expect(calls).toEqual([`label ${directory}`]);
  });

  test('is told that nobody uses it where the node has no devices', async () => {
    const { logger, lines } = captureLogger();
    start(undefined, logger);
    const { told } = await plug('v1beta1');
    await vi.waitFor(() => expect(told[0]).toContain('no handler registered for plugin type: DevicePlugin'));
    // The plugin hears of it first.
    await vi.waitFor(() => expect(lines.map(({ fields }) => fields.component)).toContain('plugin-watcher'));
  });
});

test('no plugins are looked for where there is no place for them', () => {
  const child = () => ({ logger: silentLogger }) as never;
  const ports = { fs: nodeFileSystem, foreignFiles: nodeFileSystem } as never;
  expect(nodePlugins(child, ports, {}, { devices })).toBeUndefined();
});
