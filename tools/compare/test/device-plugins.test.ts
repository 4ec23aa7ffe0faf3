import { mkdtemp, rm } from 'node:fs/promises';
import { DeviceManager } from '@node-agent/device-manager';
import { nodeFileSystem } from '@node-agent/host';
import { PluginWatcher } from '@node-agent/plugin-watcher';
import type { Pod } from '@node-agent/pod-spec';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { devices as cases } from '../src/cases/devices.ts';
import { DEVICE_RESOURCES, DevicePlugins } from '../src/device-plugins.ts';

let directory = '';
let plugins: DevicePlugins;
let manager: DeviceManager;
let stop: AbortController;
let running: readonly Promise<void>[];

beforeEach(async () => {
  directory = await mkdtemp('/tmp/na-compare-test-');
  plugins = new DevicePlugins(directory);
  const pods = { active: () => [], sourcesReady: () => true };
  manager = new DeviceManager({ fs: nodeFileSystem, pods }, { directory: `${directory}/device-plugins` });
  const handler = {
    validate: (name: string, _endpoint: string, versions: readonly string[]) => manager.validatePlugin(name, versions),
    register: (name: string, endpoint: string, _versions: readonly string[], signal: AbortSignal) =>
      manager.registerPlugin(name, endpoint, signal),
    deregister: (name: string, endpoint: string) => manager.deregisterPlugin(name, endpoint),
  };
  const watcher = new PluginWatcher(
    { fs: nodeFileSystem },
    { directory: `${directory}/plugins_registry`, handlers: new Map([['DevicePlugin', handler]]) },
  );
  stop = new AbortController();
  running = [manager.start(stop.signal), watcher.start(stop.signal)];
});

afterEach(async () => {
  stop.abort();
  plugins.stop();
  await Promise.all(running);
  await rm(directory, { recursive: true });
});

async function admitted(name: string) {
  const spec = cases.find((one) => one.name === name)?.spec;
  if (spec === undefined) throw new Error(`no case ${name}`);
  const pod: Pod = { metadata: { name, namespace: 'n', uid: name }, spec };
  const verdict = await manager.admit(pod, [], stop.signal);
  const [container] = spec.containers;
  if (container === undefined) throw new Error('no container');
  return { verdict, given: verdict.admit ? await manager.containerDevices(pod, container, stop.signal) : undefined };
}

test('the device manager finds all plugins and allocates or rejects devices as the cases require', async () => {
  await plugins.start();
  const found = (): readonly string[] => [...manager.allocatableDevices().keys()].sort();
  await expect.poll(found, { timeout: 10_000 }).toEqual([...DEVICE_RESOURCES].sort());
  expect(plugins.refusals).toEqual([]);
  expect((await admitted('device')).given).toMatchObject({
    envs: [
      { name: 'LED_GIVEN', value: 'led0' },
      { name: 'SHADOWED', value: 'by the plugin' },
    ],
    devices: [{ containerPath: '/dev/led', hostPath: '/dev/zero' }],
    annotations: { 'led.example.com/ids': 'led0' },
  });
  expect((await admitted('device-of-init')).given?.envs[0]).toEqual({ name: 'RELAY_GIVEN', value: 'relay0' });
  const refusals = await Promise.all(['device-too-many', 'device-plugin-fails'].map(admitted));
  expect(refusals.map(({ verdict }) => !verdict.admit && verdict.message)).toEqual([
    expect.stringContaining('Requested: 2, Available: 1'),
    'Allocate failed due to rpc error: code = Unknown desc = it has blown, which is unexpected',
  ]);
  expect((await admitted('device-of-nobody')).given).toMatchObject({ envs: [], devices: [] });
});
