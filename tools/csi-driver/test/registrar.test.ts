import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeFileSystem } from '@node-agent/host';
import { type PluginHandler, PluginWatcher } from '@node-agent/plugin-watcher';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DriverProcess } from '../src/index.ts';

const NAME = 'test.csi.example.com';
let directory: string;
let registryDirectory: string;
let driver: DriverProcess;
let stop: AbortController;
let running: Promise<void>;
let calls: string[];

beforeEach(async () => {
  directory = await mkdtemp('/tmp/na-csi-');
  registryDirectory = join(directory, 'plugins_registry');
  calls = [];
  stop = new AbortController();
  const handler: PluginHandler = {
    validate: () => undefined,
    register: async (name, endpoint, versions) => void calls.push(`register ${name} ${endpoint} ${versions.join()}`),
    deregister: (name) => void calls.push(`deregister ${name}`),
  };
  const handlers = new Map([['CSIPlugin', handler]]);
  running = new PluginWatcher({ fs: nodeFileSystem }, { directory: registryDirectory, handlers }).start(stop.signal);
  driver = new DriverProcess({ directory, driverName: NAME, nodeId: 'n1', registryDirectory });
});

afterEach(async () => {
  await driver.stop();
  stop.abort();
  await running;
  await rm(directory, { recursive: true });
});

test('the registrar registers the driver under its reported name, and removes its socket when it is stopped', {
  timeout: 60_000,
}, async () => {
  await driver.start();
  const registered = `register ${NAME} ${driver.socketPath} 1.0.0`;
  await expect.poll(() => calls, { timeout: 20_000 }).toEqual([registered]);
  expect(existsSync(join(registryDirectory, `${NAME}-reg.sock`))).toBe(true);
  await driver.killRegistrar('SIGTERM');
  await expect.poll(() => calls).toEqual([registered, `deregister ${NAME}`]);
  // A new registrar announces the driver again.
  await driver.start();
  await expect.poll(() => calls, { timeout: 20_000 }).toHaveLength(3);
});
