import type { Pod, PodSpec } from '@node-agent/pod-spec';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeData } from '../src/claims/claim-source.ts';
import { LocalStaging } from '../src/claims/local-staging.ts';
import { localNodeVolume } from '../src/claims/local-volume-rule.ts';
import { isForGroup } from '../src/mount/fs-group.ts';
import { errorOf, MemoryClaims, podOf, ROOT, setUp } from './helpers.ts';

const STAGED = `${ROOT}/plugins/kubernetes.io/local-volume/mounts/pv-1`;
const VOLUMES = 'volumes/kubernetes.io~local-volume';

function make(spec: PersistentVolumeData['spec'] = {}) {
  const claims = new MemoryClaims();
  const fixture = setUp({}, {}, claims);
  claims.bind('c', 'pv-1', { local: { path: '/mnt/disk' }, ...spec });
  const addDisk = async (): Promise<void> => {
    await fixture.fs.mkdir('/dev');
    fixture.fs.makeSpecial('/dev/sdb', 'blockDevice');
  };
  return { claims, addDisk, ...fixture };
}

const podWith = (uid: string, spec: Partial<PodSpec> = {}, readOnly = false): Pod =>
  podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly } }], uid, spec);
const grouped = (fsGroup: number, fsGroupChangePolicy?: string): Partial<PodSpec> => ({
  securityContext: { fsGroup, ...(fsGroupChangePolicy && { fsGroupChangePolicy }) },
});

describe('a local PersistentVolume that is a directory', () => {
  it("a local directory is bind-mounted at upstream's path for each pod, and keeps its files after the pods are removed", async () => {
    const { fs, manager, mounter, signal, under } = make();
    await fs.mkdir('/mnt/disk');
    await fs.writeFile('/mnt/disk/f', 'kept');
    for (const uid of ['u1', 'u2']) await manager.waitForAttachAndMount(podWith(uid), signal);
    const pod = podWith('u1');
    const [container] = pod.spec.containers;
    const mounts = container && (await manager.containerMounts(pod, container, [], signal));
    const hostPath = `${ROOT}/pods/u1/${VOLUMES}/pv-1`;
    expect(mounts).toMatchObject([{ hostPath, containerPath: '/mnt/data', readOnly: false, selinuxRelabel: true }]);
    expect(new TextDecoder().decode(await fs.readFile(`${hostPath}/f`))).toBe('kept');
    await fs.writeFile(`${ROOT}/pods/u2/${VOLUMES}/pv-1/g`, 'of the other');
    expect(new TextDecoder().decode(await fs.readFile(`${hostPath}/g`))).toBe('of the other');
    for (const uid of ['u1', 'u2']) await manager.waitForUnmount(podWith(uid), signal);
    expect(mounter.asked).toEqual(['bind', 'bind', 'unmount', 'unmount']);
    expect([under('u1').filter((path) => path.includes('pv-1')), fs.names('/mnt/disk')]).toEqual([[], ['f', 'g']]);
    expect(await fs.exists(`${ROOT}/plugins`)).toBe(false);
  });

  it('K1: a local directory is mounted once per pod, and a restarted kubelet finds the mount', async () => {
    const { fs, manager, newManager, mounter, signal } = make();
    await fs.mkdir('/mnt/disk');
    for (const each of [manager, newManager()]) await each.waitForAttachAndMount(podWith('u1', grouped(7)), signal);
    expect(mounter.asked).toEqual(['bind']);
  });

  it("a local directory is mounted with its persistent volume's mount options, and read-only if the pod requests that", async () => {
    const { fs, manager, mounter, signal } = make({ mountOptions: ['noexec', 'rw', 'nodev', 'noexec'] });
    await fs.mkdir('/mnt/disk');
    await manager.waitForAttachAndMount(podWith('u1'), signal);
    const pod = podWith('u2', grouped(7), true);
    await manager.waitForAttachAndMount(pod, signal);
    expect(mounter.asked).toEqual(['bind', 'rebind nodev,noexec,rw', 'bind', 'rebind nodev,noexec,ro']);
    const [container] = pod.spec.containers;
    const mounts = container && (await manager.containerMounts(pod, container, [], signal));
    expect(mounts).toMatchObject([{ readOnly: true, selinuxRelabel: false }]);
    expect((await fs.stat('/mnt/disk')).gid).toBe(0);
  });

  it('K1: a restarted kubelet finds no node-level mount to remove for a local directory that an unknown pod uses', async () => {
    const { fs, foreignFiles, manager, mounter, paths, signal } = make();
    await fs.mkdir('/mnt/disk');
    await manager.waitForAttachAndMount(podWith('u1'), signal);
    const staging = new LocalStaging({ fs, foreignFiles, mounter, devices: mounter, paths, logger: silentLogger });
    await staging.unstage(localNodeVolume('pv-1'), signal);
    expect([...(await mounter.mountPoints()).keys()]).toEqual([`${ROOT}/pods/u1/${VOLUMES}/pv-1`]);
  });

  it('a local directory gets the fsGroup of its first pod; a pod with another fsGroup gets a warning event', async () => {
    const { fs, manager, events, signal } = make();
    await fs.mkdir('/mnt/disk/d');
    await fs.writeFile('/mnt/disk/d/f', '', { mode: 0o600 });
    await manager.waitForAttachAndMount(podWith('u1', grouped(7)), signal);
    expect(await fs.stat('/mnt/disk/d/f')).toMatchObject({ gid: 7, mode: 0o660 });
    expect(await fs.stat('/mnt/disk')).toMatchObject({ gid: 7, mode: 0o2775 });
    await manager.waitForAttachAndMount(podWith('u2', grouped(7)), signal);
    expect(events).toEqual([]);
    await manager.waitForAttachAndMount(podWith('u3', grouped(8)), signal);
    expect((await fs.stat('/mnt/disk')).gid).toBe(7);
    expect(events).toEqual([
      'AlreadyMountedVolume: The requested fsGroup is 8, but the volume pv-1 has GID 7. The volume may not be shareable.',
    ]);
    for (const uid of ['u1', 'u2', 'u3']) await manager.waitForUnmount(podWith(uid), signal);
    await manager.waitForAttachAndMount(podWith('u3', grouped(8)), signal);
    expect((await fs.stat('/mnt/disk/d/f')).gid).toBe(8);
  });

  it("with fsGroupChangePolicy OnRootMismatch, ownership changes only if the volume's root directory has another group", async () => {
    const { fs, manager, signal } = make();
    await fs.mkdir('/mnt/disk');
    await fs.writeFile('/mnt/disk/f', '');
    const pod = podWith('u1', grouped(7, 'OnRootMismatch'));
    await manager.waitForAttachAndMount(pod, signal);
    expect((await fs.stat('/mnt/disk/f')).gid).toBe(7);
    await manager.waitForUnmount(pod, signal);
    await fs.chown('/mnt/disk/f', 0, 0);
    await manager.waitForAttachAndMount(pod, signal);
    expect((await fs.stat('/mnt/disk/f')).gid).toBe(0);
  });

  it('an ownership change of a volume that takes over 30 s emits an event', async () => {
    const { fs, manager, clock, events, signal } = make();
    await fs.mkdir('/mnt/disk');
    const given = Promise.withResolvers<{ entries: number; failed: number; failure: string }>();
    fs.giveToGroup = () => given.promise;
    const mounting = manager.waitForAttachAndMount(podWith('u1', grouped(7)), signal);
    await clock.advance(29_999);
    expect(events).toEqual([]);
    await clock.advance(60_000);
    expect(events).toEqual([
      expect.stringContaining(
        `VolumePermissionChangeInProgress: Setting volume ownership for u1/${VOLUMES}/pv-1 is taking longer than expected`,
      ),
    ]);
    given.resolve({ entries: 2, failed: 1, failure: 'EPERM /mnt/disk' });
    await mounting;
  });

  const initialization = 'NewMounter initialization';
  it.each<[object, string, string]>([
    [{ path: '/mnt/none' }, 'path "/mnt/none" does not exist', initialization],
    [{ path: '/mnt/file' }, 'only directory and block device are supported', initialization],
    [{ path: '/mnt/../etc' }, "invalid path: /mnt/../etc must not contain '..'", 'MountDevice'],
    [{ path: '' }, 'local volume source is nil or local path is not set', 'MountDevice'],
  ])('a local PersistentVolume with %j is refused: %s', async (local, message, what) => {
    const { fs, manager, events, signal, under } = make({ local: local as { path: string } });
    await fs.mkdir('/mnt');
    await fs.writeFile('/mnt/file', '');
    const error = await errorOf(manager.waitForAttachAndMount(podWith('u1'), signal));
    expect(error.message).toContain(`failed to process volumes=[]: ${message}`);
    expect(events).toEqual([`FailedMount: MountVolume.${what} failed for volume "pv-1" : ${message}`]);
    expect(under('u1')).toEqual([]);
  });

  it('a second pod cannot mount a ReadWriteOncePod local PersistentVolume', async () => {
    const { fs, manager, signal } = make({ accessModes: ['ReadWriteOncePod'] });
    await fs.mkdir('/mnt/disk');
    await manager.waitForAttachAndMount(podWith('u1'), signal);
    expect((await errorOf(manager.waitForAttachAndMount(podWith('u2'), signal))).message).toContain(
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
  });

  it('the usage stats of a local directory cover its whole file system', async () => {
    const { fs, manager, signal } = make();
    fs.limitBytes = 1_000_000;
    await fs.mkdir('/mnt/disk');
    await fs.writeFile('/mnt/disk/f', 'x'.repeat(1000));
    const pod = podWith('u1');
    await manager.waitForAttachAndMount(pod, signal);
    expect(await manager.volumeUsage(pod, signal)).toMatchObject([
      {
        name: 'data',
        medium: 'persistent',
        usedBytes: 1000,
        complete: true,
        claim: { namespace: 'default', name: 'c' },
        fileSystem: { totalBytes: 1_000_000 },
      },
    ]);
  });

  it('teardown of a local volume fails and deletes no file if its mount point holds files although nothing is mounted there', async () => {
    const { fs, manager, signal } = make();
    await fs.mkdir(`${ROOT}/pods/u1/${VOLUMES}/pv-1`);
    await fs.writeFile(`${ROOT}/pods/u1/${VOLUMES}/pv-1/precious`, '');
    expect((await errorOf(manager.waitForUnmount(podWith('u1'), signal))).code).toBe('StillMounted');
    expect(await fs.exists(`${ROOT}/pods/u1/${VOLUMES}/pv-1/precious`)).toBe(true);
  });
});

describe('a local PersistentVolume that is a disk', () => {
  it('a local disk is mounted once for the node, bind-mounted for each pod, and unmounted after the last pod', async () => {
    const { addDisk, fs, manager, mounter, clock, signal } = make({
      local: { path: '/dev/sdb', fsType: 'xfs' },
      mountOptions: ['noatime'],
    });
    await addDisk();
    for (const uid of ['u1', 'u2']) await manager.waitForAttachAndMount(podWith(uid, grouped(7)), signal);
    await fs.writeFile(`${ROOT}/pods/u1/${VOLUMES}/pv-1/f`, 'x');
    expect(fs.names(STAGED)).toEqual(['f']);
    expect((await fs.stat(STAGED)).gid).toBe(7);
    await manager.waitForUnmount(podWith('u1'), signal);
    await clock.settle();
    expect(mounter.asked).not.toContain('unmount unmount');
    expect(fs.names(STAGED)).toEqual(['f']);
    await manager.waitForUnmount(podWith('u2'), signal);
    await clock.settle();
    expect(mounter.asked).toEqual([
      'disk /dev/sdb xfs noatime',
      ...['bind', 'rebind noatime', 'bind', 'rebind noatime'],
      ...['unmount', 'unmount', 'unmount'],
    ]);
    expect(await fs.exists(STAGED)).toBe(false);
  });

  it('a local disk that cannot be mounted leaves no mount point, and the pod gets the error', async () => {
    const { addDisk, fs, manager, mounter, events, signal } = make({ local: { path: '/dev/sdb' } });
    await addDisk();
    const { VolumeError } = await import('../src/errors.ts');
    mounter.diskFailure = new VolumeError('MountFailed', 'wrong fs type');
    await errorOf(manager.waitForAttachAndMount(podWith('u1', {}, true), signal));
    const what = `local: failed to mount device /dev/sdb at ${STAGED} (fstype: ext4), error wrong fs type`;
    expect(events).toEqual([`FailedMount: MountVolume.MountDevice failed for volume "pv-1" : ${what}`]);
    expect(mounter.asked).toEqual(['disk /dev/sdb ext4 ro']);
    expect(await fs.exists(STAGED)).toBe(false);
  });

  it("refuses a local disk whose file system differs from the PersistentVolume's fsType", async () => {
    const { addDisk, manager, mounter, events, objects, signal } = make({ local: { path: '/dev/sdb' } });
    await addDisk();
    const { VolumeError } = await import('../src/errors.ts');
    mounter.diskFailure = new VolumeError('FileSystemMismatch', 'wrong fs type');
    await errorOf(manager.waitForAttachAndMount(podWith('u1'), signal));
    const what = `local: failed to mount device /dev/sdb at ${STAGED} (fstype: ext4), error wrong fs type`;
    expect(events).toEqual([
      `FailedMountOnFilesystemMismatch: MountVolume failed for volume "pv-1" ${what}`,
      `FailedMount: MountVolume.MountDevice failed for volume "pv-1" : ${what}`,
    ]);
    expect(objects.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['PersistentVolume pv-1', 'Pod pod-u1']);
  });

  it('if another program has unmounted a local disk, its pod gets an error and nothing is bind-mounted instead', async () => {
    const { addDisk, manager, mounter, signal, under } = make({ local: { path: '/dev/sdb' } });
    await addDisk();
    await manager.waitForAttachAndMount(podWith('u1'), signal);
    await mounter.unmount(STAGED);
    const error = await errorOf(manager.waitForAttachAndMount(podWith('u2'), signal));
    expect(error.message).toContain(`/dev/sdb is not mounted at ${STAGED} any more`);
    expect(under('u2')).toEqual([]);
  });

  it('N5, K1: a local disk stays mounted while a pod uses it whose directory could not be read at start-up', async () => {
    const { addDisk, fs, clock, manager, newManager, mounter, signal } = make({ local: { path: '/dev/sdb' } });
    await addDisk();
    await manager.waitForAttachAndMount(podWith('u1'), signal);
    const fault = fs.injectFault({ code: 'ENOSPC', operation: 'readdir', times: Number.POSITIVE_INFINITY });
    const next = newManager();
    const life = new AbortController();
    const running = next.start(life.signal);
    await clock.settle();
    expect(fault.hits).toBeGreaterThan(0);
    fault.remove();
    await next.waitForAttachAndMount(podWith('u2'), signal);
    await next.waitForUnmount(podWith('u2'), signal);
    await clock.settle();
    const points = async () => [...(await mounter.mountPoints()).keys()];
    expect(await points()).toEqual([STAGED, `${ROOT}/pods/u1/${VOLUMES}/pv-1`]);
    // The kubelet gets the pod, which terminates now.
    const unmounting = next.waitForUnmount(podWith('u1'), signal);
    await clock.advance(5000);
    await unmounting;
    await clock.advance(5000);
    expect([await points(), await fs.exists(STAGED)]).toEqual([[], false]);
    life.abort();
    await running;
  });

  it('N5: a local disk in use stays mounted after a restart if the pods directory is a symbolic link', async () => {
    const { fs, foreignFiles, mounter, paths, signal } = make();
    for (const directory of [STAGED, '/data/pods']) await fs.mkdir(directory);
    await fs.symlink('/data/pods', `${ROOT}/pods`);
    const inPod = `/data/pods/u1/${VOLUMES}/pv-1`;
    mounter.mountPoints = async () => new Map([STAGED, inPod].map((point) => [point, 'ext4']));
    const staging = new LocalStaging({ fs, foreignFiles, mounter, devices: mounter, paths, logger: silentLogger });
    const error = await errorOf(staging.unstage(localNodeVolume('pv-1'), signal));
    expect(error).toMatchObject({ code: 'StillMounted', message: `local: ${STAGED} is still mounted at ${inPod}` });
  });

  it('K1: after a kill at any step and a restart, a running pod has its local disk and a removed pod leaves no mount', async () => {
    for (const isWanted of [true, false]) {
      let killed = 0;
      for (let after = 0; after < 40; after++) {
        const { addDisk, fs, clock, manager, newManager, mounter, signal } = make({
          local: { path: '/dev/sdb' },
          mountOptions: ['nodev'],
        });
        await addDisk();
        const life = new AbortController();
        // From the injected fault on, the killed process changes neither files nor mounts.
        const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
        mounter.isKilled = () => fault.hits > 0;
        const running = manager.start(life.signal);
        await manager
          .waitForAttachAndMount(podWith('u1', grouped(7)), AbortSignal.any([signal, life.signal]))
          .then(() => (isWanted ? undefined : manager.waitForUnmount(podWith('u1'), life.signal)))
          .catch(() => killed++);
        await clock.settle();
        life.abort();
        await clock.settle();
        mounter.isKilled = () => false;
        fault.remove();
        await running;
        const next = newManager();
        const nextLife = new AbortController();
        const nextRunning = next.start(nextLife.signal);
        await clock.settle();
        const pod = podWith('u1', grouped(7));
        const again = isWanted ? next.waitForAttachAndMount(pod, signal) : next.waitForUnmount(pod, signal);
        await clock.advance(5_000);
        await again;
        await clock.advance(5_000);
        const points = [...(await mounter.mountPoints()).keys()].sort();
        expect(points, `after ${after} calls`).toEqual(
          isWanted ? [STAGED, `${ROOT}/pods/u1/${VOLUMES}/pv-1`].sort() : [],
        );
        if (isWanted) {
          expect((await fs.stat(STAGED)).gid).toBe(7);
          expect(mounter.asked.at(-1)).toBe('rebind nodev');
        } else expect(await fs.exists(STAGED)).toBe(false);
        nextLife.abort();
        await nextRunning;
      }
      expect(killed).toBeGreaterThan(5);
    }
  });
});

it.each<[object, 'Always' | 'OnRootMismatch', boolean]>([
  [{}, 'OnRootMismatch', false],
  [{}, 'Always', true],
  [{ gid: 6 }, 'OnRootMismatch', true],
  [{ mode: 0o770 }, 'OnRootMismatch', true],
  [{ mode: 0o2750 }, 'OnRootMismatch', true],
  [{ mode: 0o2777 }, 'OnRootMismatch', false],
  [{ kind: 'file' }, 'OnRootMismatch', true],
])('the ownership of a directory with %j is changed under fsGroupChangePolicy %s: %s', (change, policy, isDue) => {
  const root = { kind: 'directory', mode: 0o2770, gid: 7, ...change } as const;
  expect(isForGroup(root, { gid: 7, policy })).toBe(isDue);
});
