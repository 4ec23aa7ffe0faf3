import { MemoryFileSystem } from '@node-agent/host/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { expect, it } from 'vitest';
import { VolumeError } from '../src/errors.ts';
import { Leftovers } from '../src/manager/leftovers.ts';
import type { VolumePlugin } from '../src/manager/plugin.ts';
import { PluginSet } from '../src/manager/plugin-set.ts';
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

/** Starts a kubelet over these plugins. @returns the staged volumes that were registered, and the warnings */
async function takeIn(
  plugins: readonly VolumePlugin[],
): Promise<{ readonly found: string[]; readonly told: unknown[] }> {
  const found: string[] = [];
  const { logger, lines } = captureLogger();
  const leftovers = new Leftovers({
    ...{ fs: new MemoryFileSystem(), paths: new PodPaths(ROOT), plugins: new PluginSet(plugins), logger },
    metrics: { reconstructed: () => {} },
    entries: { of: () => [] },
    operations: { found: () => {}, remove: () => {}, foundStaged: ({ volume }) => void found.push(volume.uniqueName) },
    helpers: {
      ...{ subPaths: { clean: async () => {} }, expander: { expand: async () => {} } },
      metrics: { operation: () => {} },
    },
  });
  await leftovers.takeIn(new AbortController().signal);
  return { found, told: lines.map(({ message, fields }) => ({ message, plugin: fields.plugin })) };
}

it('a warning names a plugin that cannot find its staged volumes, and the staged volumes of other plugins are registered', async () => {
  const failure = new VolumeError('Io', 'input/output error');
  expect(await takeIn([pluginOf('a'), pluginOf('b', failure), pluginOf('c')])).toEqual({
    found: ['a/disk', 'c/disk'],
    told: [{ message: 'Failed to find the staged volumes of a plugin', plugin: 'b' }],
  });
});

it('staged volumes of all plugins are registered without a warning', async () => {
  expect(await takeIn([pluginOf('a'), pluginOf('b')])).toEqual({ found: ['a/disk', 'b/disk'], told: [] });
});
