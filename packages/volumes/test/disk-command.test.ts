import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { nodeFileSystem as fs, nodeForeignFiles } from '@node-agent/host';
import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalVolumePlugin } from '../src/claims/local-volume.ts';
import type { VolumeSpec } from '../src/manager/resolved-volume.ts';
import { DiskCommand } from '../src/mount/disk-command.ts';
import { diskFormat, isBroken, makeCommand, probeArguments } from '../src/mount/disk-format.ts';
import { MountCommand } from '../src/mount/mount-command.ts';
import { mountPointsWithin } from '../src/mount/mounter.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { errorOf, podOf } from './helpers.ts';

describe("detection of a disk's file system", () => {
  it.each<[number, string, string | undefined]>([
    [2, '', undefined],
    [0, 'DEVNAME=/dev/sdb TYPE=ext4', 'ext4'],
    [0, 'DEVNAME=/dev/TYPE=xfs TYPE=ext4', 'ext4'],
    [0, 'DEVNAME=/dev/sdb PTTYPE=gpt', 'unknown data, probably partitions'],
    [0, 'DEVNAME=/dev/sdb PTTYPE=dos TYPE=vfat', 'unknown data, probably partitions'],
  ])("blkid with exit code %i and output %j means that the disk's content is: %s", (exitCode, output, format) => {
    expect(diskFormat('/dev/sdb', { exitCode, output })).toBe(format);
  });

  // A wrong result here would destroy the data on the disk.
  it.each<[number, string, string]>([
    [2, 'blkid: error: /dev/sdb: No medium found', 'blkid: error: /dev/sdb: No medium found'],
    [4, '', 'exit code 4'],
    [8, 'ambivalent result', 'ambivalent result'],
    [127, 'sh: 1: blkid: not found', 'sh: 1: blkid: not found'],
    [0, '', 'blkid returns invalid output'],
    [0, 'DEVNAME=/dev/sdb', 'blkid returns invalid output'],
    [0, 'DEVNAME=/dev/sdb SUBTYPE=ext4', 'blkid returns invalid output'],
  ])(
    "blkid with exit code %i and output %j leaves the disk's content unknown, so the disk is not formatted",
    (exitCode, output, why) => {
      const message = `failed to get disk format of disk /dev/sdb: ${why}`;
      expect(() => diskFormat('/dev/sdb', { exitCode, output })).toThrow(
        expect.objectContaining({ code: 'MountFailed', message }),
      );
    },
  );

  it('blkid reads the disk itself instead of its own cache', () => {
    expect(probeArguments('/dev/sdb').join(' ')).toBe('-p -s TYPE -s PTTYPE -o export /dev/sdb');
  });

  it.each<[string, string, readonly string[]]>([
    ['ext4', 'mkfs.ext4', ['-F', '-m0', '/dev/sdb']],
    ['ext3', 'mkfs.ext3', ['-F', '-m0', '/dev/sdb']],
    ['xfs', 'mkfs.xfs', ['-f', '/dev/sdb']],
    ['btrfs', 'mkfs.btrfs', ['/dev/sdb']],
    ['constructor', 'mkfs.constructor', ['/dev/sdb']],
  ])('a disk with fsType %s is formatted by the command %s', (fsType, command, args) => {
    expect(makeCommand('/dev/sdb', fsType)).toEqual([command, args]);
  });

  it('W3: an fsType that is no plain name starts no program', () => {
    for (const fsType of ['../sh', 'x/y', '', 'a b'])
      expect(() => makeCommand('/dev/sdb', fsType)).toThrow(
        expect.objectContaining({
          code: 'InvalidSource',
          message: `${JSON.stringify(fsType)} must be the name of a file system type`,
        }),
      );
  });

  it('a disk counts as damaged only if fsck reports errors that it could not correct', () => {
    expect([0, 1, 2, 4, 8, 127].filter(isBroken)).toEqual([4]);
  });
});

/** Returns why the test cannot create a disk; `undefined` if it can. */
function whyNoLoopDevice(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  try {
    execFileSync('losetup', ['--find'], { stdio: 'pipe' });
    execFileSync('mkfs.ext4', ['-V'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `no loop device, or no mkfs.ext4: ${String(error)}`;
  }
}

const problem = whyNoLoopDevice();

describe('local PersistentVolumes on a real disk', { timeout: 120_000 }, () => {
  const mounter = new MountCommand({ fs, clock: systemClock });
  const disks = new DiskCommand({ mounter, clock: systemClock, logger: silentLogger });
  const foreignFiles = nodeForeignFiles({ clock: systemClock });
  const { signal } = new AbortController();
  let root: string;
  let device: string | undefined;
  const at = (path: string): string => join(root, path);
  const mounts = (): Promise<string[]> => mountPointsWithin({ fs, mounter }, root);
  const plugin = (): LocalVolumePlugin =>
    new LocalVolumePlugin({ fs, foreignFiles, mounter, devices: disks, paths: new PodPaths(root) });
  const spec = (path: string, more: object = {}, readOnly = false): VolumeSpec => ({
    volume: { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
    persistent: { metadata: { name: 'pv-1' }, spec: { local: { path }, volumeMode: 'Filesystem', ...more } },
    readOnly,
  });
  const attachDisk = async (content: Uint8Array = new Uint8Array()): Promise<string> => {
    await writeFile(at('image'), content);
    await truncate(at('image'), 16 << 20);
    device = execFileSync('losetup', ['--find', '--show', at('image')])
      .toString()
      .trim();
    return device;
  };

  beforeEach(async (context) => {
    if (problem !== undefined) context.skip(problem);
    root = await mkdtemp(join(tmpdir(), 'volumes-'));
  });
  afterEach(async () => {
    for (const point of (await mounts()).reverse()) await mounter.unmount(point, signal, { lazy: true });
    if (device !== undefined) execFileSync('losetup', ['--detach', device]);
    device = undefined;
    await rm(root, { recursive: true });
  });

  it('a disk is in use while it is mounted, and not while only its path is open', async () => {
    const path = await attachDisk();
    await mkdir(at('mounted'));
    const free = await foreignFiles.isDeviceInUse(path);
    await disks.formatAndMount(path, at('mounted'), 'ext4', [], signal);
    const mounted = await foreignFiles.isDeviceInUse(path);
    await mounter.unmount(at('mounted'), signal);
    expect([free, mounted, await foreignFiles.isDeviceInUse(path)]).toEqual([false, true, false]);
    expect([await foreignFiles.isDeviceInUse(at('image')), await foreignFiles.isDeviceInUse(at('no'))]).toEqual([
      false,
      false,
    ]);
  });

  it('K1: a local disk is formatted once, mounted once for all pods, found after a restart, and keeps its files', async () => {
    const path = await attachDisk();
    const local = plugin();
    const resolved = await local.resolve(podOf([]), spec(path, { mountOptions: ['noatime'] }));
    if (resolved.node === undefined) throw new Error('it has no node level');
    for (let round = 0; round < 2; round++) await local.node.stage(resolved.node, signal);
    const context = { fsGroup: { gid: 4321, policy: 'Always' as const } };
    const own = await local.setUp(podOf([], 'u1'), resolved, context, signal);
    await writeFile(join(own.hostPath, 'f'), 'kept');
    const other = await plugin().setUp(podOf([], 'u2'), { ...resolved, readOnly: true }, {}, signal);
    expect(await readFile(join(other.hostPath, 'f'), 'utf8')).toBe('kept');
    await expect(writeFile(join(other.hostPath, 'g'), '')).rejects.toThrow('EROFS');
    await writeFile(join(own.hostPath, 'g'), '');
    expect((await fs.stat(own.hostPath)).gid).toBe(4321);
    const usage = await local.usage(own);
    expect(usage.fileSystem.totalBytes).toBeLessThan(16 << 20);
    expect(await readFile('/proc/self/mounts', 'utf8')).toContain(`${own.hostPath} ext4 rw,noatime`);

    // `plugin()` creates the plugin of the next kubelet process.
    expect(await plugin().node.staged()).toEqual([
      { uniqueName: 'kubernetes.io/local-volume/pv-1', name: 'pv-1', attachable: false },
    ]);
    await plugin().setUp(podOf([], 'u1'), resolved, context, signal);
    expect(await mounts()).toHaveLength(3);
    for (const uid of ['u1', 'u2']) {
      const unstaging = plugin().node.unstage(resolved.node, signal);
      expect(await errorOf(unstaging)).toMatchObject({ code: 'StillMounted', message: expect.stringContaining(uid) });
      for (let again = 0; again < 2; again++) await plugin().tearDown(uid, 'pv-1', signal);
    }
    for (let again = 0; again < 2; again++) await plugin().node.unstage(resolved.node, signal);
    expect([await mounts(), await plugin().node.staged()]).toEqual([[], []]);
    await local.node.stage(resolved.node, signal);
    expect(await readFile(at('plugins/kubernetes.io/local-volume/mounts/pv-1/f'), 'utf8')).toBe('kept');
  });

  it('an empty local disk that the pod mounts read-only is not formatted', async () => {
    const path = await attachDisk();
    const resolved = await plugin().resolve(podOf([]), spec(path, {}, true));
    const staging = plugin().node.stage(resolved.node ?? { uniqueName: '', name: '' }, signal);
    expect((await errorOf(staging)).message).toContain(
      `cannot mount unformatted disk ${path} as we are manipulating it in read-only mode`,
    );
    expect((await readFile(at('image'))).every((byte) => byte === 0)).toBe(true);
    expect(await plugin().node.staged()).toEqual([]);
  });

  it('refuses to mount a local disk whose file system differs from fsType, and reports both', async () => {
    const path = await attachDisk();
    execFileSync('mkfs.ext4', ['-q', '-F', path]);
    const staged = async (fsType: string): Promise<string> => {
      const resolved = await plugin().resolve(podOf([]), spec(path, { local: { path, fsType } }));
      const staging = plugin().node.stage(resolved.node ?? { uniqueName: '', name: '' }, signal);
      return (await errorOf(staging)).code;
    };
    expect(await staged('vfat')).toBe('FileSystemMismatch');
    expect(await mounts()).toEqual([]);
  });

  it('refuses to mount a local disk with a partition table, and leaves its content unchanged', async () => {
    // A partition table with one Linux partition.
    const table = Buffer.alloc(512);
    table.set([0, 0, 2, 0, 0x83, 0, 10, 0, 1, 0, 0, 0, 0, 8], 0x1be);
    table.set([0x55, 0xaa], 0x1fe);
    const path = await attachDisk(table);
    const before = await readFile(at('image'));
    const resolved = await plugin().resolve(podOf([]), spec(path));
    await errorOf(plugin().node.stage(resolved.node ?? { uniqueName: '', name: '' }, signal));
    expect(before.equals(await readFile(at('image')))).toBe(true);
  });

  it('a local directory is bind-mounted without the mounts below it, which stay when the pod is removed', async () => {
    await mkdir(at('disk/below'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'below', at('disk/below')]);
    await writeFile(at('disk/below/f'), '');
    const local = plugin();
    const resolved = await local.resolve(podOf([]), spec(at('disk')));
    const { hostPath } = await local.setUp(podOf([]), resolved, {}, signal);
    expect(hostPath).toBe(at('pods/u1/volumes/kubernetes.io~local-volume/pv-1'));
    expect((await fs.readdir(join(hostPath, 'below'))).length).toBe(0);
    await writeFile(join(hostPath, 'g'), 'kept');
    await local.tearDown('u1', 'pv-1', signal);
    expect(await fs.exists(hostPath)).toBe(false);
    expect([await readFile(at('disk/g'), 'utf8'), await mounts()]).toEqual(['kept', [at('disk/below')]]);
  });
});
