import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, test } from 'vitest';
import { MountCommand } from '../src/mount/mount-command.ts';
import { removeOrphanedPod } from '../src/paths/orphaned-pod.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';

test('N5: the mount table is read again before the directory of an orphaned pod is removed, however fresh the cached table is', async () => {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const paths = new PodPaths('/root');
  const mounted = paths.volumeDir('b', 'kubernetes.io/csi', 'data');
  for (const uid of ['a', 'b']) await fs.mkdir(paths.volumeDir(uid, 'kubernetes.io/csi', 'data'));
  let table = '22 28 0:21 / /sys rw - sysfs sysfs rw\n';
  const mounter = new MountCommand({ fs: { readFile: async () => Buffer.from(table) }, clock });
  await removeOrphanedPod({ fs, mounter, paths }, 'a');
  table += `40 28 0:40 / ${mounted} rw - nfs server:/data rw\n`;
  await expect(removeOrphanedPod({ fs, mounter, paths }, 'b')).rejects.toMatchObject({ code: 'StillMounted' });
  expect(await fs.exists(mounted)).toBe(true);
  expect(await fs.exists(paths.podDir('a'))).toBe(false);
});
