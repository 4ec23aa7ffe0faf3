import type { FileSystem } from '@node-agent/host';
import type { Scenario } from '../src/index.ts';
import { changedFiles, healthy, quietNode, seenBroken } from './mutants.ts';

/** A pod that links to what is not its own, and goes. */
const linking: Scenario = {
  ...quietNode,
  actions: [
    { atMs: 100, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, emptyDir: true } },
    { atMs: 10_000, do: 'hostileFiles', uid: 'u1', what: ['links', 'names', 'special', 'deep'] },
    { atMs: 20_000, do: 'removeManifest', file: 'p1.yaml' },
  ],
};

/** A pod that mounts what hangs, and another one. */
const hanging: Scenario = {
  ...quietNode,
  faultsEndMs: 80_000,
  actions: [
    { atMs: 100, do: 'hangForeign', forMs: 60_000 },
    { atMs: 500, do: 'writeManifest', file: 'p1.yaml', pod: { ...healthy, foreign: true } },
    { atMs: 5000, do: 'writeManifest', file: 'p2.yaml', pod: { ...healthy, name: 'p2', uid: 'u2' } },
  ],
};

/** Takes away what a link leads to, too. */
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
    'removal follows the links of a volume',
    () => ({ files: (fs) => changedFiles(fs, { removeAll: (path) => removeThroughLinks(fs, path) }) }),
    linking,
  ],
  [
    'W6',
    'the directory of every pod waits for a file system that hangs',
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
