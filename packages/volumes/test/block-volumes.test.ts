import { MemoryFileSystem } from '@node-agent/host/testing';
import { describe, expect, it } from 'vitest';
import { backingPath, LoopCommand } from '../src/block/loop-devices.ts';
import { blockPod, type CsiFixture, csiFailure, DRIVER, makeCsi, text } from './csi-helpers.ts';
import { errorOf, MemoryClaims, ROOT, setUp } from './helpers.ts';

const NODE = `${ROOT}/plugins/kubernetes.io/csi/volumeDevices`;
const LINK = `${ROOT}/pods/u1/volumeDevices/kubernetes.io~csi/pv-1`;
const makeBlock = (spec: Record<string, unknown> = {}): CsiFixture => makeCsi({}, { volumeMode: 'Block', ...spec });

/** Returns the paths, loop devices and mounts of the volume that exist on the machine. */
async function leftOf({ fs, loops, mounter }: CsiFixture): Promise<readonly string[]> {
  const paths = fs.paths().filter((path) => path.includes('/pv-1') || path.includes('kubernetes.io~csi/'));
  return [...paths, ...loops.devices.keys(), ...(await mounter.mountPoints()).keys()];
}

describe('a CSI block volume', () => {
  it("a CSI block volume is staged, published and mapped at upstream's paths, and removed with its last pod", async () => {
    const fixture = makeBlock();
    const { fs, manager, driver, loops, clock, events, signal } = fixture;
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    const target = `${NODE}/publish/pv-1/u1`;
    const capability = { access: { type: 'block' }, accessMode: 'SINGLE_NODE_WRITER' };
    const common = { volumeId: 'vol-1', publishContext: {}, secrets: {}, volumeContext: {}, capability };
    const stagingTargetPath = `${NODE}/staging/pv-1`;
    expect([driver.stages, driver.publishes]).toEqual([
      [{ ...common, stagingTargetPath }],
      [{ ...common, stagingTargetPath, targetPath: target, readOnly: false }],
    ]);
    expect(await text(fs, `${NODE}/pv-1/data/vol_data.json`)).toBe(
      `{"attachmentID":"csi-f4c24cb450d8bb50ed94a9fe7498f9ee73f8350b12e34a249e60cba8d4711a1a","driverName":"${DRIVER}",` +
        '"nodeName":"node-1","specVolID":"pv-1","volumeHandle":"vol-1"}\n',
    );
    expect([(await fs.lstat(`${NODE}/pv-1/dev/u1`)).kind, await fs.readlink(LINK)]).toEqual(['blockDevice', target]);
    expect([...loops.devices]).toEqual([[`${NODE}/pv-1/dev/u1`, '/dev/loop0']]);
    const [container] = blockPod('u1').spec.containers;
    expect(container && manager.containerDevices(blockPod('u1'), container)).toEqual([
      { hostPath: LINK, containerPath: '/dev/xvda', permissions: 'mrw' },
    ]);
    await manager.waitForAttachAndMount(blockPod('u2'), signal);
    await manager.waitForUnmount(blockPod('u1'), signal);
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'publish vol-1', 'unpublish vol-1']);
    await manager.waitForUnmount(blockPod('u2'), signal);
    await clock.settle();
    expect([driver.calls.slice(4), await leftOf(fixture), events]).toEqual([
      ['unpublish vol-1', 'unstage vol-1'],
      [],
      [],
    ]);
  });

  it('a failed step of a CSI block volume is named in an event FailedMapVolume, and a final failure is not reverted', async () => {
    const fixture = makeBlock();
    const { manager, driver, clock, events, signal } = fixture;
    driver.before = (call) => {
      if (call === 'stage vol-1') throw csiFailure('Internal', true);
    };
    await errorOf(manager.waitForAttachAndMount(blockPod('u1'), signal));
    driver.before = (call) => {
      if (call === 'publish vol-1') throw csiFailure('Internal', true);
    };
    await clock.advance(500);
    expect(events).toEqual([
      'FailedMapVolume: MapVolume.SetUpDevice failed for volume "pv-1" : rpc error: code = Internal desc = broken',
      'FailedMapVolume: MapVolume.MapPodDevice failed for volume "pv-1" : rpc error: code = Internal desc = broken',
    ]);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect([driver.calls.slice(-2), await leftOf(fixture)]).toEqual([['publish vol-1', 'unstage vol-1'], []]);
  });

  it('a CSI block volume is read-only if its PVC is used read-only', async () => {
    const { manager, driver, signal } = makeBlock();
    await manager.waitForAttachAndMount(blockPod('u1', true), signal);
    const [container] = blockPod('u1').spec.containers;
    expect(driver.publishes[0]?.readOnly).toBe(true);
    expect(container && manager.containerDevices(blockPod('u1'), container)[0]?.permissions).toBe('r');
  });

  it('a CSI block volume is published again at a later sync only if the driver requires republishing, and stays mapped if that fails', async () => {
    const fixture = makeBlock();
    const { fs, api, clock, manager, driver, loops, events, signal } = fixture;
    const sync = async (): Promise<void> => {
      await clock.advance(60_000);
      await manager.waitForAttachAndMount(blockPod('u1'), signal);
      await clock.settle();
    };
    await sync();
    await sync();
    expect(driver.publishes).toHaveLength(1);
    const known = api.drivers.get(DRIVER);
    if (known) api.drivers.set(DRIVER, { spec: { ...known.spec, requiresRepublish: true } });
    const before = await leftOf(fixture);
    await sync();
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'publish vol-1']);
    driver.before = () => {
      throw csiFailure('Internal', true);
    };
    await sync();
    expect(events.at(-1)).toContain('MapVolume.MapPodDevice failed for volume "pv-1" : rpc error: code = Internal');
    expect(await leftOf(fixture)).toEqual(before);
    expect([await fs.readlink(LINK), loops.devices.size]).toEqual([`${NODE}/publish/pv-1/u1`, 1]);
    driver.before = () => {};
    await clock.advance(500);
    expect(driver.publishes).toHaveLength(3);
  });

  it('a second pod for a ReadWriteOncePod CSI block volume is refused with the step that upstream names', async () => {
    const { manager, events, signal } = makeBlock({ accessModes: ['ReadWriteOncePod'] });
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    await errorOf(manager.waitForAttachAndMount(blockPod('u2'), signal));
    expect(events).toEqual([
      'FailedMapVolume: MapVolume.SetUpDevice failed for volume "pv-1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    ]);
  });

  it.each([
    ['is missing', undefined],
    ['is damaged', '{'],
  ])(
    'V4: a CSI block volume is unpublished with the driver and volume ID of its PersistentVolume if the data file %s',
    async (_what, content) => {
      const fixture = makeBlock();
      const { fs, manager, newManager, driver, claims, signal } = fixture;
      await manager.waitForAttachAndMount(blockPod('u1'), signal);
      const file = `${NODE}/pv-1/data/vol_data.json`;
      await fs.remove(file);
      if (content !== undefined) await fs.writeFile(file, content);
      const next = newManager();
      claims.failure = new Error('no connection');
      expect((await errorOf(next.waitForUnmount(blockPod('u1'), signal))).message).toContain(
        'driver of the published device',
      );
      claims.failure = undefined;
      await fixture.clock.advance(500);
      await next.waitForUnmount(blockPod('u1'), signal);
      expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1', 'unpublish vol-1']);
    },
  );

  it('V6: a CSI block volume with two PersistentVolumes is unstaged at the path at which it was staged', async () => {
    const fixture = makeBlock();
    const { manager, driver, claims, clock, signal } = fixture;
    const csi = { driver: DRIVER, volumeHandle: 'vol-1' };
    claims.bind('other', 'pv-2', { accessModes: ['ReadWriteOnce'], volumeMode: 'Block', csi });
    const pod = blockPod('u2');
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'other' } }];
    const second = { ...pod, spec: { ...pod.spec, volumes } };
    const unstaged: string[] = [];
    const { unstageVolume } = driver;
    driver.unstageVolume = async (handle, path) => {
      unstaged.push(path);
      await unstageVolume.call(driver, handle, path);
    };
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    await manager.waitForAttachAndMount(second, signal);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await manager.waitForUnmount(second, signal);
    await clock.settle();
    expect([driver.stages.map(({ stagingTargetPath }) => stagingTargetPath), unstaged]).toEqual([
      [`${NODE}/staging/pv-1`],
      [`${NODE}/staging/pv-1`],
    ]);
    expect(await leftOf(fixture)).toEqual([]);
  });

  it('V1: a CSI block volume is not unstaged while its device is mapped for any pod', async () => {
    const { fs, manager, driver, clock, signal } = makeBlock();
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    fs.makeSpecial(`${NODE}/pv-1/dev/other`, 'blockDevice');
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.at(-1)).toBe('unpublish vol-1');
    await fs.remove(`${NODE}/pv-1/dev/other`);
    await clock.advance(500);
    expect(driver.calls.at(-1)).toBe('unstage vol-1');
  });

  it('V4, V6: a CSI block volume whose pod link was lost in a power failure is unpublished, unstaged and forgotten', async () => {
    const fixture = makeBlock();
    const { fs, clock, manager, newManager, mounter, loops, driver, signal } = fixture;
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    for (const point of (await mounter.mountPoints()).keys()) await mounter.unmount(point);
    loops.devices.clear();
    await fs.remove(LINK);
    const life = new AbortController();
    const next = newManager();
    const running = next.start(life.signal);
    await clock.settle();
    expect(driver.calls.slice(-2)).toEqual(['unpublish vol-1', 'unstage vol-1']);
    expect([driver.faults, await fs.exists(`${NODE}/publish/pv-1`), await fs.exists(`${NODE}/pv-1`)]).toEqual([
      [],
      false,
      false,
    ]);
    expect(next.volumesInUse()).toEqual([]);
    life.abort();
    await running;
  });

  it.each<[string, boolean]>([
    ['NOT_FOUND', true],
    ['INTERNAL', false],
  ])(
    'V4: a CSI block volume whose pod link was lost, and which the driver answers %s to unpublish, is unstaged: %s',
    async (code, isUnstaged) => {
      const fixture = makeBlock();
      const { fs, clock, manager, newManager, mounter, loops, driver, signal } = fixture;
      await manager.waitForAttachAndMount(blockPod('u1'), signal);
      for (const point of (await mounter.mountPoints()).keys()) await mounter.unmount(point);
      loops.devices.clear();
      await fs.remove(LINK);
      driver.before = (call) => {
        if (call === 'unpublish vol-1') throw csiFailure(code, true);
      };
      const life = new AbortController();
      const next = newManager();
      const running = next.start(life.signal);
      await clock.settle();
      expect(driver.calls.at(-1)).toBe(isUnstaged ? 'unstage vol-1' : 'unpublish vol-1');
      expect(await fs.exists(`${NODE}/publish/pv-1/u1`)).toBe(!isUnstaged);
      expect((await leftOf(fixture)).length === 0).toBe(isUnstaged);
      life.abort();
      await running;
    },
  );

  it('V4: a CSI block volume that is still mounted for a pod whose link was lost stays staged, although its driver answers NOT_FOUND to unpublish', async () => {
    const fixture = makeBlock();
    const { fs, clock, manager, newManager, mounter, loops, driver, signal } = fixture;
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    for (const point of (await mounter.mountPoints()).keys()) await mounter.unmount(point);
    loops.devices.clear();
    await fs.remove(LINK);
    driver.before = (call) => {
      if (call === 'unpublish vol-1') throw csiFailure('NOT_FOUND', true);
    };
    const busy = fs.injectFault({ code: 'EBUSY', path: `${NODE}/publish/pv-1/u1`, operation: 'remove' });
    const life = new AbortController();
    const next = newManager();
    const running = next.start(life.signal);
    await clock.settle();
    expect(busy.hits).toBe(1);
    expect(driver.calls.at(-1)).toBe('unpublish vol-1');
    busy.remove();
    await clock.advance(500);
    expect([driver.calls.at(-1), await leftOf(fixture)]).toEqual(['unstage vol-1', []]);
    life.abort();
    await running;
  });

  it.each([
    ['nodeStageSecretRef', 'SetUpDevice', 'failed to get NodeStageSecretRef'],
    ['nodePublishSecretRef', 'MapPodDevice', 'blockMapper.publishVolumeForBlock failed to get NodePublishSecretRef'],
  ])(
    "the event for a missing secret of a CSI block volume (%s) has the Go kubelet's words",
    async (field, step, what) => {
      const { manager, events, signal } = makeCsi(
        { [field]: { namespace: 'kube-system', name: 's' } },
        { volumeMode: 'Block' },
      );
      await errorOf(manager.waitForAttachAndMount(blockPod('u1'), signal));
      const missing = 'failed to find the secret s in the namespace kube-system with error: secrets "s" not found';
      const why = `kubernetes.io/csi: ${what} kube-system/s: kubernetes.io/csi: ${missing}`;
      expect(events).toEqual([`FailedMapVolume: MapVolume.${step} failed for volume "pv-1" : ${why}`]);
    },
  );

  it('V4: a CSI block volume that is being staged keeps its directory while volumes of a former process are searched', async () => {
    const { manager, fs, driver, clock, events, signal } = makeBlock();
    const writing = fs.injectFault({ code: 'EIO', operation: 'rename', path: `${NODE}/pv-1`, hangs: true });
    const mounting = manager.waitForAttachAndMount(blockPod('u1'), signal);
    mounting.catch(() => undefined);
    await clock.settle();
    const life = new AbortController();
    const running = manager.start(life.signal);
    await clock.settle();
    writing.remove();
    await clock.settle();
    expect([driver.calls, events]).toEqual([['stage vol-1', 'publish vol-1'], []]);
    await mounting;
    expect(await fs.exists(`${NODE}/pv-1/data/vol_data.json`)).toBe(true);
    life.abort();
    await running;
  });

  it('V4: a CSI block volume whose driver keeps the published file is completely removed', async () => {
    const fixture = makeBlock();
    const { fs, clock, manager, driver, signal } = fixture;
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    driver.after = async (call) => {
      if (call === 'unpublish vol-1') await fs.writeFile(`${NODE}/publish/pv-1/u1`, '');
    };
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect([driver.calls.at(-1), await leftOf(fixture)]).toEqual(['unstage vol-1', []]);
  });

  it('a pod that waits for the unstaging of its CSI block volume shows the unpublish call without a response', async () => {
    const fixture = makeBlock();
    const { fs, clock, manager, newManager, mounter, loops, driver, signal } = fixture;
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    for (const point of (await mounter.mountPoints()).keys()) await mounter.unmount(point);
    loops.devices.clear();
    await fs.remove(LINK);
    driver.before = (call) => (call === 'unpublish vol-1' ? new Promise(() => {}) : undefined);
    const life = new AbortController();
    const next = newManager();
    const running = next.start(life.signal);
    await clock.settle();
    const waiting = next.waitForAttachAndMount(blockPod('u2'), life.signal).catch(() => undefined);
    await clock.advance(42_000);
    expect(next.volumeWaits('u2').map(({ what }) => what)).toEqual([
      `NodeUnpublishVolume of driver ${DRIVER} has not answered for 42 s`,
    ]);
    life.abort();
    await Promise.all([waiting, running]);
  });

  it('K1, V4: after a kill at any step and a restart, a CSI block volume is mapped for its pod or completely removed', async () => {
    for (const isWanted of [true, false]) {
      let killed = 0;
      for (let after = 0; after < 70; after++) {
        const fixture = makeBlock();
        const { fs, clock, manager, newManager, mounter, driver, loops, signal } = fixture;
        const life = new AbortController();
        const fault = fs.injectFault({ code: 'EIO', skip: after, times: Number.POSITIVE_INFINITY });
        const die = (): void => {
          if (fault.hits > 0) throw new Error('killed');
        };
        mounter.isKilled = () => fault.hits > 0;
        driver.before = die;
        const { attach, detach } = loops;
        loops.attach = async (path) => {
          die();
          await attach.call(loops, path);
        };
        loops.detach = async (path) => {
          die();
          await detach.call(loops, path);
        };
        const running = manager.start(life.signal);
        await manager
          .waitForAttachAndMount(blockPod('u1'), AbortSignal.any([signal, life.signal]))
          .then(() => (isWanted ? undefined : manager.waitForUnmount(blockPod('u1'), life.signal)))
          .catch(() => killed++);
        await clock.settle();
        life.abort();
        await clock.settle();
        fault.remove();
        Object.assign(loops, { attach, detach });
        mounter.isKilled = () => false;
        driver.before = () => {};
        await running;
        const next = newManager();
        const nextLife = new AbortController();
        const nextRunning = next.start(nextLife.signal);
        await clock.settle();
        const again = isWanted
          ? next.waitForAttachAndMount(blockPod('u1'), signal)
          : next.waitForUnmount(blockPod('u1'), signal);
        await clock.advance(5_000);
        await again;
        await clock.advance(5_000);
        if (isWanted) {
          const mapped = [(await fs.lstat(`${NODE}/pv-1/dev/u1`)).kind, await fs.readlink(LINK), loops.devices.size];
          expect(mapped, `after ${after} operations`).toEqual(['blockDevice', `${NODE}/publish/pv-1/u1`, 1]);
        } else expect(await leftOf(fixture), `after ${after} operations`).toEqual([]);
        expect(driver.faults).toEqual([]);
        nextLife.abort();
        await nextRunning;
      }
      expect(killed).toBeGreaterThan(5);
    }
  });
});

describe('a local block volume', () => {
  const NODE_DIR = `${ROOT}/plugins/kubernetes.io~local-volume/volumeDevices/pv-1`;

  it("a local block volume is mapped at upstream's paths without a node-level call, and removed with its pod", async () => {
    const claims = new MemoryClaims();
    const { fs, manager, loops, clock, signal } = setUp({}, {}, claims);
    claims.bind('c', 'pv-1', { local: { path: '/dev/sdb' }, volumeMode: 'Block', mountOptions: ['ignored'] });
    await fs.mkdir('/dev');
    fs.makeSpecial('/dev/sdb', 'blockDevice');
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    const link = `${ROOT}/pods/u1/volumeDevices/kubernetes.io~local-volume/pv-1`;
    expect([(await fs.lstat(`${NODE_DIR}/u1`)).kind, await fs.readlink(link), loops.devices.size]).toEqual([
      ...['blockDevice', '/dev/sdb', 1],
    ]);
    await manager.waitForUnmount(blockPod('u1'), signal);
    await clock.settle();
    expect([await fs.exists(NODE_DIR), fs.names(`${ROOT}/pods/u1/volumeDevices/kubernetes.io~local-volume`)]).toEqual([
      false,
      [],
    ]);
    expect([loops.devices.size, (await fs.stat('/dev/sdb')).kind]).toEqual([0, 'blockDevice']);
  });

  it("the usage of a local block volume is the size of its device, with the volume's PVC", async () => {
    const claims = new MemoryClaims();
    const { fs, manager, signal } = setUp({}, {}, claims);
    claims.bind('c', 'pv-1', { local: { path: '/dev/disk/by-id/a' }, volumeMode: 'Block' });
    await fs.mkdir('/dev/disk/by-id');
    fs.makeSpecial('/dev/sdb', 'blockDevice');
    await fs.symlink('/dev/sdb', '/dev/disk/by-id/a');
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    expect(await manager.volumeUsage(blockPod('u1'), signal)).toEqual([]);
    await fs.mkdir('/sys/class/block/sdb');
    await fs.writeFile('/sys/class/block/sdb/size', '2097152\n');
    expect(await manager.volumeUsage(blockPod('u1'), signal)).toMatchObject([
      {
        ...{ name: 'data', medium: 'persistent', usedBytes: 0, inodesUsed: 0, complete: true },
        claim: { namespace: 'default', name: 'c' },
        fileSystem: { totalBytes: 2 ** 30, freeBytes: 0, availableBytes: 0, inodes: 0, freeInodes: 0 },
      },
    ]);
  });

  it('the PVC of a local block volume gets the size of its PersistentVolume while its pod runs', async () => {
    const claims = new MemoryClaims();
    const { fs, manager, events, clock, signal } = setUp({}, {}, claims);
    claims.acceptPatches();
    await fs.mkdir('/dev');
    fs.makeSpecial('/dev/sdb', 'blockDevice');
    const bind = (size: string): void => {
      const volume = { local: { path: '/dev/sdb' }, volumeMode: 'Block', capacity: { storage: size } };
      claims.bind('c', 'pv-1', volume, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
    };
    bind('1Gi');
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    await clock.settle();
    bind('2Gi');
    await clock.advance(60_000);
    await manager.waitForAttachAndMount(blockPod('u1'), signal);
    await clock.settle();
    expect(claims.claims.get('default/c')?.status?.capacity).toEqual({ storage: '2Gi' });
    expect(events).toHaveLength(2);
    expect(events[0]).toContain('MountVolume.NodeExpandVolume succeeded for volume "pv-1"');
  });

  it.each(['/dev/none', '/mnt'])('a local block volume with the path %s is refused', async (path) => {
    const claims = new MemoryClaims();
    const { fs, manager, events, signal } = setUp({}, {}, claims);
    claims.bind('c', 'pv-1', { local: { path }, volumeMode: 'Block' });
    await fs.mkdir('/mnt');
    await errorOf(manager.waitForAttachAndMount(blockPod('u1'), signal));
    expect(events).toEqual([
      expect.stringContaining(`FailedMapVolume: MapVolume.MapPodDevice failed for volume "pv-1" : path`),
    ]);
  });
});

describe('loop devices', () => {
  it.each([
    ['/a/b\n', '/a/b'],
    ['/a/b (deleted)\n', '/a/b'],
    ['', ''],
  ])('the backing_file content %j of a loop device contains the path %j', (content, path) => {
    expect(backingPath(content)).toBe(path);
  });

  it('the loop device of a path is found in /sys, and none for another path', async () => {
    const fs = new MemoryFileSystem();
    for (const name of ['loop0', 'loop7/loop', 'sda']) await fs.mkdir(`/sys/block/${name}`);
    await fs.mkdir('/real');
    await fs.writeFile('/real/file', '');
    await fs.symlink('/real', '/linked');
    await fs.writeFile('/sys/block/loop7/loop/backing_file', '/real/file\n');
    const loops = new LoopCommand({ fs, clock: { setTimer: () => ({ cancel() {} }) } });
    expect(await loops.find('/linked/file')).toBe('/dev/loop7');
    expect([await loops.find('/real'), await loops.find('/none')]).toEqual([undefined, undefined]);
  });
});
