import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem, memoryForeignFiles } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { VolumeError } from '../src/errors.ts';
import { NfsPlugin } from '../src/network/nfs-plugin.ts';
import { nfsSource } from '../src/network/nfs-source.ts';
import { PodPaths } from '../src/paths/pod-paths.ts';
import { errorOf, MemoryClaims, MemoryMounter, podOf, ROOT, setUp } from './helpers.ts';

const DIRECTORY = `${ROOT}/pods/u1/volumes/kubernetes.io~nfs`;

/** A node with the plugin. Everything is mounted by `mounter`, and network file systems by `network`. */
function makeNfs() {
  const claims = new MemoryClaims();
  const networks: MemoryMounter[] = [];
  const fixture = setUp({}, {}, claims, ({ fs, foreignFiles, mounter, paths, clock }) => {
    networks.push(mounter);
    return { plugins: [new NfsPlugin({ fs, foreignFiles, mounter, paths, clock, logger: silentLogger })] };
  });
  return { ...fixture, claims };
}

describe('the source of an NFS volume', () => {
  const volume = { name: 'data', nfs: { server: 'nfs.example.com', path: '/export', readOnly: true } };

  it('the source of an NFS volume is server and path, and read-only if the pod spec sets readOnly', () => {
    expect(nfsSource({ volume })).toEqual({ source: 'nfs.example.com:/export', readOnly: true, options: ['ro'] });
  });

  it.each(['fd00::1', '::1'])('the source of an NFS volume has the IPv6 address %s in brackets', (server) => {
    expect(nfsSource({ volume: { name: 'data', nfs: { server, path: '/' } } }).source).toBe(`[${server}]:/`);
  });

  it('the source of an NFS volume of a PersistentVolume is read-only if the pod uses the PVC read-only, whatever the volume says', () => {
    const persistent = {
      metadata: { name: 'pv' },
      spec: { nfs: { server: 's', path: '/p', readOnly: true }, mountOptions: ['rw', 'nfsvers=4.2'] },
    };
    const other = { name: 'data' };
    expect(nfsSource({ volume: other, persistent })).toEqual({
      ...{ source: 's:/p', readOnly: false, options: ['nfsvers=4.2', 'rw'] },
    });
    expect(nfsSource({ volume: other, persistent, readOnly: true }).options).toEqual(['nfsvers=4.2', 'ro']);
  });
});

describe('an NFS volume', () => {
  const pod = podOf([{ name: 'data', nfs: { server: 'server', path: '/export' } }]);

  it("an NFS volume is mounted at upstream's path for each pod, once, and is removed with its pod", async () => {
    const { manager, mounter, fs, signal } = makeNfs();
    await manager.waitForAttachAndMount(pod, signal);
    await manager.waitForAttachAndMount(pod, signal);
    expect(mounter.asked).toEqual(['mount nfs ']);
    expect([...(await mounter.mountPoints())]).toEqual([[`${DIRECTORY}/data`, 'nfs']]);
    const [container] = pod.spec.containers;
    expect(container && (await manager.containerMounts(pod, container, [], signal))).toMatchObject([
      { hostPath: `${DIRECTORY}/data`, readOnly: false, selinuxRelabel: false },
    ]);
    await manager.waitForUnmount(pod, signal);
    expect([
      [...(await mounter.mountPoints())],
      await fs.exists(`${ROOT}/pods/u1/volumes/kubernetes.io~nfs/data`),
    ]).toEqual([[], false]);
  });

  it("an NFS volume of a claim has the PersistentVolume's mount options and name", async () => {
    const { manager, mounter, claims, signal } = makeNfs();
    claims.bind('c', 'pv-1', { nfs: { server: 'server', path: '/export' }, mountOptions: ['nolock', 'hard'] });
    const claimed = podOf([{ name: 'data', persistentVolumeClaim: { claimName: 'c', readOnly: true } }]);
    await manager.waitForAttachAndMount(claimed, signal);
    expect(mounter.asked).toEqual(['mount nfs hard,nolock,ro']);
    expect([...(await mounter.mountPoints()).keys()]).toEqual([`${DIRECTORY}/pv-1`]);
  });

  it('an NFS volume that cannot be mounted leaves no directory; its pod gets an event, and the mount is retried', async () => {
    const { manager, mounter, fs, events, clock, signal } = makeNfs();
    const { mount } = mounter;
    mounter.mount = () => Promise.reject(new VolumeError('MountFailed', 'mount.nfs: access denied by server'));
    await errorOf(manager.waitForAttachAndMount(pod, signal));
    expect(events).toEqual([
      'FailedMount: MountVolume.SetUp failed for volume "data" : mount.nfs: access denied by server',
    ]);
    expect(await fs.exists(`${DIRECTORY}/data`)).toBe(false);
    mounter.mount = mount;
    await clock.advance(500);
    await manager.waitForAttachAndMount(pod, signal);
    expect(await fs.exists(`${DIRECTORY}/data`)).toBe(true);
  });

  it('V4: an NFS volume that an earlier kubelet process mounted is taken over, and unmounted with its pod', async () => {
    const { manager, newManager, mounter, signal } = makeNfs();
    await manager.waitForAttachAndMount(pod, signal);
    const next = newManager();
    await next.waitForAttachAndMount(pod, signal);
    expect(mounter.asked).toEqual(['mount nfs ']);
    await newManager().cleanupOrphanedPodDirs(() => false, signal);
    expect((await mounter.mountPoints()).size).toBe(0);
  });

  it('W6: an NFS server that does not answer delays only the pod of its volume, and the pod shows what it waits for', async () => {
    const { manager, mounter, clock, signal } = makeNfs();
    const { mount } = mounter;
    mounter.mount = (source, ...rest) =>
      source.startsWith('hung') ? new Promise(() => {}) : mount.call(mounter, source, ...rest);
    const hung = podOf([{ name: 'data', nfs: { server: 'hung', path: '/x' } }], 'u2');
    const waiting = errorOf(manager.waitForAttachAndMount(hung, signal));
    await manager.waitForAttachAndMount(pod, signal);
    await clock.advance(42_000);
    expect(manager.volumeWaits('u2')).toMatchObject([
      { volume: 'data', what: 'mount of NFS export hung:/x has not answered for 42 s' },
    ]);
    await clock.advance(81_000);
    expect((await waiting).message).toContain('mount of NFS export hung:/x has not answered for 123 s');
  });

  it('an NFS volume is unmounted by force if its server does not answer for one minute', async () => {
    const { manager, mounter, clock, signal } = makeNfs();
    await manager.waitForAttachAndMount(pod, signal);
    const { unmount } = mounter;
    const forced: unknown[] = [];
    mounter.unmount = async (target, ending, options) => {
      if (!options?.force) return await new Promise(() => {});
      forced.push(target);
      await unmount.call(mounter, target, ending, options);
    };
    const ending = manager.waitForUnmount(pod, signal);
    await clock.advance(59_999);
    expect(forced).toEqual([]);
    await clock.advance(1);
    await ending;
    expect(forced).toEqual([`${DIRECTORY}/data`]);
  });

  it('an NFS volume is not unmounted by force if the unmount fails for another reason', async () => {
    const { manager, mounter, signal } = makeNfs();
    await manager.waitForAttachAndMount(pod, signal);
    const asked: unknown[] = [];
    mounter.unmount = async (_target, _ending, options) => {
      asked.push(options);
      throw new VolumeError('MountFailed', 'umount: target is busy');
    };
    expect((await errorOf(manager.waitForUnmount(pod, signal))).message).toContain('target is busy');
    expect(asked).toEqual([{ lazy: false }]);
  });

  it('an NFS volume is measured as a whole file system, by the helper for file systems that may hang', async () => {
    const { manager, foreignFiles, signal } = makeNfs();
    await manager.waitForAttachAndMount(pod, signal);
    const paths: string[] = [];
    const { statfs } = foreignFiles;
    foreignFiles.statfs = async (path, ...rest) => {
      paths.push(path);
      return await statfs.call(foreignFiles, path, ...rest);
    };
    const [usage] = await manager.volumeUsage(pod, signal);
    expect([paths, usage?.fileSystem.totalBytes]).toEqual([[`${DIRECTORY}/data`], expect.any(Number)]);
  });
});

it('W3: the name of an NFS volume that is not a directory name is refused before anything is mounted', async () => {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const mounter = new MemoryMounter(fs);
  const plugin = new NfsPlugin({
    ...{ fs, foreignFiles: memoryForeignFiles({ clock, fs }), mounter, paths: new PodPaths(ROOT), clock },
  });
  const volume = { volume: { name: 'v', nfs: { server: 's', path: '/' } }, directoryName: '../v' };
  const error = await errorOf(plugin.setUp(podOf([]), volume, {}, new AbortController().signal));
  expect([error.code, mounter.asked]).toEqual(['InvalidPath', []]);
});
