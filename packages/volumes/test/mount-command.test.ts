import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmptyDirPlugin } from '../src/empty-dir.ts';
import { MountCommand } from '../src/mount-command.ts';
import { mountPointsWithin } from '../src/mounter.ts';
import { PodPaths } from '../src/pod-paths.ts';
import { errorOf, podOf } from './helpers.ts';

const mounter = new MountCommand({ fs: nodeFileSystem, clock: systemClock });
const signal = new AbortController().signal;
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'volumes-'));
});
afterEach(async () => {
  for (const point of await mountPointsWithin({ fs: nodeFileSystem, mounter }, root))
    await mounter.unmount(point, signal);
  await rm(root, { recursive: true });
});

describe('MountCommand', () => {
  it('reads the mount table of this machine', async () => {
    expect((await mounter.mountPoints()).get('/proc')).toBe('proc');
  });

  it('says what mount and umount said', async () => {
    await mkdir(join(root, 'x'));
    const failed = await errorOf(mounter.unmount(join(root, 'x'), signal));
    expect(failed).toMatchObject({
      code: 'MountFailed',
      message: expect.stringContaining(`umount -- ${root}/x failed: `),
    });
  });
});

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('volumes in memory, for root on Linux', () => {
  it('hold what they are allowed to and no more, and leave neither mount nor directory', async () => {
    const paths = new PodPaths(root);
    const plugin = new EmptyDirPlugin({ fs: nodeFileSystem, mounter, paths }, { allocatableMemoryBytes: 1 << 20 });
    const volume = { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } };
    const { hostPath } = await plugin.setUp(podOf([volume]), volume, signal);
    await plugin.setUp(podOf([volume]), volume, signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([hostPath]);
    expect((await nodeFileSystem.stat(hostPath)).mode).toBe(0o1777);
    await writeFile(join(hostPath, 'small'), 'x'.repeat(60_000));
    await expect(writeFile(join(hostPath, 'large'), 'x'.repeat(60_000))).rejects.toThrow('ENOSPC');
    await plugin.tearDown('u1', 'mem', signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([]);
    expect(await nodeFileSystem.exists(hostPath)).toBe(false);
  });

  it('are of huge pages of the size that the pod asks for, whether or not the machine has any', async (context) => {
    const known = await readFile('/proc/filesystems', 'utf8');
    if (!known.includes('hugetlbfs')) context.skip('this kernel has no hugetlbfs');
    const plugin = new EmptyDirPlugin(
      { fs: nodeFileSystem, mounter, paths: new PodPaths(root) },
      { allocatableMemoryBytes: 1 << 20 },
    );
    const volume = { name: 'huge', emptyDir: { medium: 'HugePages' } };
    const pod = podOf([volume], 'u1', {
      containers: [{ name: 'c', resources: { requests: { 'hugepages-2Mi': '2Mi' } } }],
    });
    const { hostPath } = await plugin.setUp(pod, volume, signal);
    await plugin.setUp(pod, volume, signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([hostPath]);
    expect(await readFile('/proc/self/mounts', 'utf8')).toMatch(new RegExp(`${hostPath} hugetlbfs .*pagesize=2M`));
    await plugin.tearDown('u1', 'huge', signal);
    expect(await nodeFileSystem.exists(hostPath)).toBe(false);
  });
});
