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
type Claims = NonNullable<Parameters<typeof nodePlugins>[3]['claims']>;

const GPU = 'example.com/gpu';
const DEVICE_PLUGIN = { type: 'DevicePlugin', name: GPU };
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

const claims: Claims = {
  validatePlugin: (driver, _endpoint, services) =>
    services.includes('v1.DRAPlugin') ? undefined : `${driver} is too old`,
  registerPlugin: (driver, endpoint, services) => void calls.push(`register ${driver} ${endpoint} ${services.join()}`),
  deregisterPlugin: (driver, endpoint) => void calls.push(`deregister ${driver} ${endpoint}`),
};

/** Starts the plugin watcher with a manager of ResourceClaims and the given device manager, or none. */
function start(of: Devices | undefined, logger = silentLogger): void {
  const child = (component: string) => ({ logger: logger.child({ component }) }) as never;
  const labelForContainers = async (path: string): Promise<void> => void calls.push(`label ${path}`);
  const ports = { fs: nodeFileSystem, foreignFiles: nodeFileSystem, labelForContainers } as never;
  const watcher = nodePlugins(child, ports, { pluginsDirectory: directory }, { devices: of, claims });
  const ending = new AbortController();
  const running = watcher?.start(ending.signal);
  ends.push(async () => {
    ending.abort();
    await running;
  });
}

/** Starts a plugin whose socket is in the plugin directory. */
async function plug(version: string, kind: { readonly type: string; readonly name: string } = DEVICE_PLUGIN) {
  const told: (string | undefined)[] = [];
  const found = {
    ...kind,
    versions: [version],
    onStatus: (error?: string) => told.push(error),
  };
  const server = new GrpcServer({ socketPath: join(directory, 'gpu.sock'), services: [foundPlugin(found)] });
  await server.start();
  ends.push(() => server.close());
  return { told, remove: () => rm(join(directory, 'gpu.sock'), { force: true }) };
}

describe('plugin found by its socket', () => {
  test('a plugin is registered with the device manager while its socket exists', async () => {
    start(devices);
    const { told, remove } = await plug('v1beta1');
    await vi.waitFor(() => expect(told).toEqual([undefined]));
    expect(calls).toEqual([`label ${directory}`, `register ${GPU}`]);
    await remove();
    await vi.waitFor(() => expect(calls.at(-1)).toBe(`deregister ${GPU}`));
  });

  test('a rejected plugin receives the reason', async () => {
    start(devices);
    const { told } = await plug('v1alpha');
    await vi.waitFor(() => expect(told[0]).toContain(`${GPU} is too old`));
    expect(calls).toEqual([`label ${directory}`]);
  });

  test('a DRA driver plugin is registered with the DRA manager by its endpoint, and deregistered when its socket is removed', async () => {
    start(devices);
    const driver = { type: 'DRAPlugin', name: 'gpu.example.com' };
    const { told, remove } = await plug('v1.DRAPlugin', driver);
    await vi.waitFor(() => expect(told).toEqual([undefined]));
    const endpoint = join(directory, 'gpu.sock');
    expect(calls).toEqual([`label ${directory}`, `register gpu.example.com ${endpoint} v1.DRAPlugin`]);
    await remove();
    await vi.waitFor(() => expect(calls.at(-1)).toBe(`deregister gpu.example.com ${endpoint}`));
  });

  test('a plugin receives an error if the node has no device manager', async () => {
    const { logger, lines } = captureLogger();
    start(undefined, logger);
    const { told } = await plug('v1beta1');
    await vi.waitFor(() => expect(told[0]).toContain('no handler registered for plugin type: DevicePlugin'));
    // The plugin receives the error before the watcher logs it.
    await vi.waitFor(() => expect(lines.map(({ fields }) => fields.component)).toContain('plugin-watcher'));
  });
});

test('no plugins are watched without a directory', () => {
  const child = () => ({ logger: silentLogger }) as never;
  const ports = { fs: nodeFileSystem, foreignFiles: nodeFileSystem } as never;
  expect(nodePlugins(child, ports, {}, { devices, claims })).toBeUndefined();
});
