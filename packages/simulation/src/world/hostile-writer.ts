import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { HostileKind } from '../scenario/hostile-plans.ts';
import { OUTSIDE_DIRECTORY, ROOT_DIRECTORY } from './world.ts';

/** A byte that is not valid UTF-8, as it appears in file names. */
const NO_TEXT = '\udcff';
const DEPTH = 300;
const MANY = 1500;
const LARGE = `${'x'.repeat(200_000)}`;

/**
 * Writes hostile content as the containers of a pod could: into the volume `scratch`, `/etc/hosts` and termination
 * messages.
 */
export async function writeHostile(fs: MemoryFileSystem, podUid: string, what: readonly HostileKind[]): Promise<void> {
  const pod = `${ROOT_DIRECTORY}/pods/${podUid}`;
  const scratch = `${pod}/volumes/kubernetes.io~empty-dir/scratch`;
  if (!(await fs.exists(scratch))) return;
  const at = `${scratch}/w${fs.paths().length}`;
  await fs.mkdir(at);
  const writers: Readonly<Record<HostileKind, () => Promise<void>>> = {
    async names() {
      for (const name of [NO_TEXT, `a${NO_TEXT}\n`, '-rf', '..data', '\ud800'])
        await fs.writeFile(`${at}/${name}`, 'x');
      await fs.mkdir(`${at}/${NO_TEXT}d/${NO_TEXT}`);
    },
    async special() {
      fs.makeSpecial(`${at}/fifo`, 'fifo');
      fs.makeSpecial(`${at}/socket`, 'socket');
    },
    async links() {
      await fs.symlink(OUTSIDE_DIRECTORY, `${at}/out`);
      await fs.symlink(`${OUTSIDE_DIRECTORY}/kept`, `${at}/kept`);
      await fs.symlink('loop', `${at}/loop`);
    },
    deep: () => fs.mkdir(`${at}${'/d'.repeat(DEPTH)}`),
    async many() {
      for (let n = 0; n < MANY; n++) await fs.writeFile(`${at}/n${n}`, '');
    },
    async hosts() {
      if (await fs.exists(`${pod}/etc-hosts`)) await fs.writeFile(`${pod}/etc-hosts`, LARGE);
    },
    async message() {
      const directory = `${pod}/containers/`;
      // A container can write only the files for its messages. The kubelet's own file is beside their directories.
      const isMessage = (path: string): boolean =>
        path.startsWith(directory) && path.slice(directory.length).includes('/');
      for (const path of fs.paths().filter(isMessage)) {
        if ((await fs.lstat(path)).kind === 'file') await fs.writeFile(path, LARGE);
      }
    },
  };
  for (const kind of what) await writers[kind]();
}
