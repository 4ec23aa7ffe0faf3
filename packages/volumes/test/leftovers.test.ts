import { MemoryFileSystem } from '@node-agent/host/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, it } from 'vitest';
import { VolumeError } from '../src/errors.ts';
import { Leftovers } from '../src/manager/leftovers.ts';
import type { VolumePlugin } from '../src/manager/plugin.ts';
import { PluginSet } from '../src/manager/plugin-set.ts';
import { takeInFromDisk } from '../src/manager/take-in.ts';
import type { VolumeEntry } from '../src/manager/volume-entry.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { ROOT } from './helpers.ts';

/** A plugin that finds one staged volume, or fails. */
function pluginOf(name: string, failure?: VolumeError): VolumePlugin {
  const volume = { uniqueName: `${name}/disk`, name: 'disk' };
  return {
    name,
    canSupport: () => false,
    setUp: () => Promise.reject(new Error('not used')),
    tearDown: () => Promise.resolve(),
    isRemoving: () => false,
    node: {
      stage: () => Promise.resolve(),
      unstage: () => Promise.resolve(),
      reconstruct: () => Promise.resolve(undefined),
      staged: async () => {
        if (failure !== undefined) throw failure;
        return [volume];
      },
    },
  };
}

interface TakenIn {
  /** Staged volumes that were registered. */
  readonly found: string[];
  readonly told: unknown[];
  readonly isWhole: boolean;
  /** Results of the volumes that the metrics count. */
  readonly counted: boolean[];
}

/**
 * Starts a kubelet over these plugins, which reads the disk `attempts` times.
 * @param onAttempt called after each attempt; this process has the volumes in directories with the name `own`
 */
async function takeIn(
  plugins: readonly VolumePlugin[],
  { fs = new MemoryFileSystem(), attempts = 1, onAttempt = async (): Promise<void> => {} } = {},
): Promise<TakenIn> {
  const found: string[] = [];
  const counted: boolean[] = [];
  const { logger, lines } = captureLogger();
  const leftovers = new Leftovers({
    ...{ fs, paths: new PodPaths(ROOT), plugins: new PluginSet(plugins), logger },
    metrics: { reconstructed: (succeeded) => void counted.push(succeeded) },
    entries: { of: () => [{ directoryName: 'own' } as VolumeEntry] },
    operations: { found: () => {}, remove: () => {}, foundStaged: ({ volume }) => void found.push(volume.uniqueName) },
    helpers: {
      ...{ subPaths: { clean: async () => {} }, expander: { expand: async () => {} } },
      metrics: { operation: () => {} },
    },
  });
  let isWhole = false;
  for (let attempt = 0; attempt < attempts; attempt++) {
    isWhole = await leftovers.takeIn(new AbortController().signal);
    await onAttempt();
  }
  const warnings = lines.filter(({ level }) => level !== 'debug');
  const told = warnings.map(({ message, fields }) => ({ message, plugin: fields.plugin }));
  return { found, told, isWhole, counted };
}

it('a warning names a plugin that cannot find its staged volumes, and the staged volumes of other plugins are registered', async () => {
  const failure = new VolumeError('Io', 'input/output error');
  expect(await takeIn([pluginOf('a'), pluginOf('b', failure), pluginOf('c')])).toMatchObject({
    found: ['a/disk', 'c/disk'],
    told: [{ message: 'Failed to find the staged volumes of a plugin', plugin: 'b' }],
  });
});

it('V4: all volumes count as registered, and staged volumes are found, although a removal that a former process began fails', async () => {
  const busy = {
    ...pluginOf('a'),
    isRemoving: () => true,
    tearDown: () => Promise.reject(new VolumeError('Io', 'busy')),
  };
  const fs = new MemoryFileSystem();
  await fs.mkdir(`${ROOT}/pods/p/volumes/a/removing`);
  expect(await takeIn([busy], { fs })).toEqual({
    found: ['a/disk'],
    told: [{ message: 'Failed to register leftovers of a former process on disk', plugin: undefined }],
    isWhole: true,
    counted: [false],
  });
});

it('counts a leftover volume once although it is read again, and no volume of this process', async () => {
  const plugin = pluginOf('a');
  const node = { ...plugin.node, reconstruct: () => Promise.reject(new VolumeError('Io', 'input/output error')) };
  const fs = new MemoryFileSystem();
  await fs.mkdir(`${ROOT}/pods/p/volumes/a/former`);
  const onAttempt = (): Promise<void> => fs.mkdir(`${ROOT}/pods/p/volumes/a/own`);
  const { counted, isWhole } = await takeIn([{ ...plugin, node } as VolumePlugin], { fs, attempts: 3, onAttempt });
  expect([counted, isWhole]).toEqual([[false], false]);
});

it('a plugin that cannot find its staged volumes is logged once, however often the disk is read', async () => {
  const failure = new VolumeError('Io', 'input/output error');
  expect((await takeIn([pluginOf('a', failure)], { attempts: 3 })).told).toEqual([
    { message: 'Failed to find the staged volumes of a plugin', plugin: 'a' },
  ]);
});

it('the staged volumes of a plugin are searched once, although those of another plugin cannot be found', async () => {
  const failure = new VolumeError('Io', 'input/output error');
  expect((await takeIn([pluginOf('a'), pluginOf('b', failure)], { attempts: 3 })).found).toEqual(['a/disk']);
});

it('the number of failures is logged when a leftover can be read again', async () => {
  const fs = new MemoryFileSystem();
  await fs.mkdir(`${ROOT}/pods/p/volumes/a/former`);
  fs.injectFault({ code: 'EIO', operation: 'readdir', path: `${ROOT}/pods/p/volumes`, times: 2 });
  expect(await takeIn([pluginOf('a')], { fs, attempts: 4 })).toMatchObject({
    told: [
      { message: 'Failed to register leftovers of a former process on disk' },
      { message: 'Registered leftovers of a former process after failures' },
    ],
    isWhole: true,
  });
});

it('pods whose directories are gone are forgotten although other pods cannot be read', async () => {
  const fs = new MemoryFileSystem();
  for (const pod of ['a', 'b', 'c']) await fs.mkdir(`${ROOT}/pods/${pod}/volumes`);
  fs.injectFault({
    code: 'EIO',
    operation: 'readdir',
    path: `${ROOT}/pods/c/volumes`,
    times: Number.POSITIVE_INFINITY,
  });
  const takenIn = new Set<string>();
  const components = {
    ...{ fs, paths: new PodPaths(ROOT), problem: { failed: () => {}, over: () => {} }, takenIn },
    ...{ metrics: { reconstructed: () => {} }, takeIn: async () => {}, takeInStaged: async () => true },
    ...{ isRemoving: () => false, mustCount: () => false },
  };
  const { signal } = new AbortController();
  await takeInFromDisk(components, signal);
  await fs.removeAll(`${ROOT}/pods/a`);
  await takeInFromDisk(components, signal);
  expect([...takenIn]).toEqual(['b']);
});

it('staged volumes of all plugins are registered without a warning', async () => {
  expect(await takeIn([pluginOf('a'), pluginOf('b')])).toMatchObject({ found: ['a/disk', 'b/disk'], told: [] });
});
