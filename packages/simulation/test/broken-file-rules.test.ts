import type { FileSystem } from '@node-agent/host';
import type { Scenario } from '../src/index.ts';
import { changedFiles, healthy, quietNode, seenBroken } from './mutants.ts';

/** A pod whose volume contains links to foreign files, and that is removed later. */
const linking: Scenario = {
  ...quietNode,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, emptyDir: true } },
    { atMs: 10_000, do: 'hostileFiles', uid: 'u1', what: ['links', 'names', 'special', 'deep'] },
    { atMs: 20_000, do: 'removeManifest', file: 'p1.yaml' },
  ],
};

/** A pod that mounts the hanging file system, and another pod. */
const hanging: Scenario = {
  ...quietNode,
  faultsEndMs: 80_000,
  actions: [
    { atMs: 100, do: 'hangForeign', forMs: 60_000 },
    { atMs: 500, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, foreign: true } },
    { atMs: 5000, do: 'writeManifest', file: 'p2.yaml', pod: { ...healthy, name: 'p2', uid: 'u2' } },
  ],
};

/** Removes a directory and also the targets of its links. */
async function removeThroughLinks(fs: FileSystem, path: string): Promise<void> {
  for (const { name, kind } of await fs.readdir(path).catch(() => [])) {
    const at = `${path}/${name}`;
    if (kind === 'directory') await removeThroughLinks(fs, at);
    if (kind === 'symlink') await fs.removeAll(await fs.realpath(at).catch(() => at));
  }
  await fs.removeAll(path);
}

seenBroken([
  [
    'W5',
    'the removal of a volume follows symbolic links',
    () => ({ files: (fs) => changedFiles(fs, { removeAll: (path) => removeThroughLinks(fs, path) }) }),
    linking,
  ],
  [
    'W6',
    'a hanging file system delays all pods',
    () => ({
      files: (fs) =>
        changedFiles(fs, {
          mkdir: async (path, options) => {
            await fs.stat('/mnt/foreign/data');
            return fs.mkdir(path, options);
          },
        }),
    }),
    hanging,
  ],
]);
