import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { type Mount, MountTable, nodeFileSystem, parseMounts } from '@node-agent/host';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { podVolume } from '../src/manager/resolved-volume.ts';
import { MountCommand } from '../src/mount/mount-command.ts';
import { mountPointsWithin } from '../src/mount/mounter.ts';
import { shareDirectory } from '../src/mount/shared-directory.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { EmptyDirPlugin } from '../src/types/empty-dir.ts';
import { errorOf, podOf } from './helpers.ts';

const mounter = new MountCommand({ fs: nodeFileSystem, clock: systemClock });
const signal = new AbortController().signal;
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'volumes-'));
});
afterEach(async () => {
  // Unmounts are in reverse order, because some unmounts remove further mounts.
  const left = () => mountPointsWithin({ fs: nodeFileSystem, mounter }, root);
  for (let points = await left(); points.length > 0; points = await left())
    execFileSync('umount', ['--lazy', points.at(-1) ?? '']);
  await rm(root, { recursive: true });
});

describe('MountCommand', () => {
  it('reads the mount table of the machine that runs the test', async () => {
    expect((await mounter.mountPoints()).get('/proc')).toBe('proc');
  });

  it("an error of mount or umount contains the command's output", async () => {
    await mkdir(join(root, 'x'));
    const failed = await errorOf(mounter.unmount(join(root, 'x'), signal));
    expect(failed).toMatchObject({
      code: 'MountFailed',
      message: expect.stringContaining(`umount -- ${root}/x failed: `),
    });
  });
});

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('shareDirectory on Linux, as root', () => {
  const mounts = async (): Promise<readonly Mount[]> => parseMounts(await readFile('/proc/self/mountinfo', 'latin1'));
  const at = async (path: string): Promise<Mount | undefined> => new MountTable(await mounts()).of(path);
  const share = (directory: string): Promise<boolean> =>
    shareDirectory({ fs: nodeFileSystem, mounter }, directory, signal);
  let outer: string;
  beforeEach(async () => {
    // This mount is private, whatever the propagation of the machine's own mounts is.
    outer = join(root, 'outer');
    await mkdir(join(outer, 'kubelet/pods/v'), { recursive: true });
    execFileSync('mount', ['-o', 'bind', outer, outer]);
    execFileSync('mount', ['--make-private', outer]);
  });

  it('shareDirectory bind-mounts a directory of a private mount on itself once, and mounts nothing else', async () => {
    const before = await mounts();
    const directory = join(outer, 'kubelet');
    expect(await share(directory)).toBe(true);
    expect(await at(directory)).toMatchObject({ point: directory, isShared: true });
    expect((await at(outer))?.isShared).toBe(false);
    const after = await mounts();
    expect(after.filter(({ point }) => point !== directory)).toEqual(before);
    expect(await share(directory)).toBe(false);
    expect(await mounts()).toEqual(after);
    // A mount inside the directory is visible in the directory's other mounts, for example in a container.
    await mkdir(join(outer, 'container'));
    execFileSync('mount', ['-o', 'rbind', directory, join(outer, 'container')]);
    execFileSync('mount', ['-t', 'tmpfs', 'x', join(directory, 'pods/v')]);
    await writeFile(join(directory, 'pods/v/f'), 'seen');
    expect(await readFile(join(outer, 'container/pods/v/f'), 'utf8')).toBe('seen');
  });

  it('mounts of running pods below a directory stay visible after shareDirectory', async () => {
    const directory = join(outer, 'kubelet');
    execFileSync('mount', ['-t', 'tmpfs', 'x', join(directory, 'pods/v')]);
    await writeFile(join(directory, 'pods/v/f'), 'kept');
    expect(await share(directory)).toBe(true);
    expect(await readFile(join(directory, 'pods/v/f'), 'utf8')).toBe('kept');
    expect(await at(join(directory, 'pods/v'))).toMatchObject({ type: 'tmpfs', isShared: true });
  });

  it('shareDirectory leaves no mount behind if it cannot share the directory', async () => {
    const directory = join(outer, 'kubelet');
    const within = async () => (await mounts()).filter(({ point }) => point.startsWith(outer));
    const before = await within();
    const tools = join(root, 'tools');
    await mkdir(tools);
    const text =
      '#!/bin/sh\ncase "$*" in *--make-rshared*) echo no >&2; exit 32;; esac\nPATH=$OWN_PATH exec mount "$@"\n';
    await writeFile(join(tools, 'mount'), text, { mode: 0o755 });
    const { PATH } = process.env;
    Object.assign(process.env, { OWN_PATH: PATH, PATH: `${tools}:${PATH}` });
    try {
      const other = new MountCommand({ fs: nodeFileSystem, clock: systemClock });
      const failed = await errorOf(shareDirectory({ fs: nodeFileSystem, mounter: other }, directory, signal));
      expect(failed).toMatchObject({ code: 'MountFailed', message: expect.stringContaining('no') });
    } finally {
      process.env.PATH = PATH;
      delete process.env.OWN_PATH;
    }
    expect(await within()).toEqual(before);
  });
});

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('tmpfs volumes on Linux, as root', () => {
  it('a tmpfs volume holds data up to its size limit, and is removed without leaving a mount or a directory', async () => {
    const paths = new PodPaths(root);
    const plugin = new EmptyDirPlugin({ fs: nodeFileSystem, mounter, paths }, { allocatableMemoryBytes: 1 << 20 });
    const volume = { name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '64Ki' } };
    const { hostPath } = await plugin.setUp(podOf([volume]), podVolume({ volume }), {}, signal);
    await plugin.setUp(podOf([volume]), podVolume({ volume }), {}, signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([hostPath]);
    expect((await nodeFileSystem.stat(hostPath)).mode).toBe(0o1777);
    await writeFile(join(hostPath, 'small'), 'x'.repeat(60_000));
    await expect(writeFile(join(hostPath, 'large'), 'x'.repeat(60_000))).rejects.toThrow('ENOSPC');
    await plugin.tearDown('u1', 'mem', signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([]);
    expect(await nodeFileSystem.exists(hostPath)).toBe(false);
  });

  it('a huge page volume is mounted with the page size that the pod requests, even on a machine without huge pages of that size', async (context) => {
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
    const { hostPath } = await plugin.setUp(pod, podVolume({ volume }), {}, signal);
    await plugin.setUp(pod, podVolume({ volume }), {}, signal);
    expect(await mountPointsWithin({ fs: nodeFileSystem, mounter }, root)).toEqual([hostPath]);
    expect(await readFile('/proc/self/mounts', 'utf8')).toMatch(new RegExp(`${hostPath} hugetlbfs .*pagesize=2M`));
    await plugin.tearDown('u1', 'huge', signal);
    expect(await nodeFileSystem.exists(hostPath)).toBe(false);
  });
});
