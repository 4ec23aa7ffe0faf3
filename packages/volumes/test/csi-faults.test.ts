import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, it } from 'vitest';
import { claimPod, csiFailure, DRIVER, makeCsi, STAGED } from './csi-helpers.ts';
import { errorOf, podOf, ROOT } from './helpers.ts';

const START_MS = new FakeClock().now();
const PUBLISHED = `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1`;

const EMPTY = { name: 'own', emptyDir: {} };
const CLAIM = { name: 'data', persistentVolumeClaim: { claimName: 'c' } };

describe('a volume whose pod has another volume', () => {
  it("a volume is mounted before its pod starts if its PVC could not be read at first and the pod's other volume was ready", async () => {
    const { claims, clock, manager, driver, signal } = makeCsi();
    claims.failure = new Error('forbidden: no relationship found between node and this object');
    await errorOf(manager.waitForAttachAndMount(podOf([EMPTY, CLAIM]), signal));
    claims.failure = undefined;
    await clock.advance(1_000);
    await manager.waitForAttachAndMount(podOf([EMPTY, CLAIM]), signal);
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1']);
  });

  it("a volume that is retried after a failure does not count as ready when the pod's other volume becomes ready", async () => {
    const { claims, clock, manager, driver, signal } = makeCsi();
    claims.bind('d', 'pv-2', { accessModes: ['ReadWriteOnce'], csi: { driver: DRIVER, volumeHandle: 'vol-2' } });
    const { promise: slow, resolve: finish } = Promise.withResolvers<void>();
    const { promise: retried, resolve: answer } = Promise.withResolvers<void>();
    driver.before = async (call) => {
      if (call === 'stage vol-2') await slow;
      if (call !== 'stage vol-1') return;
      if (driver.calls.filter((one) => one === call).length === 1) throw csiFailure('Internal', true);
      await retried;
    };
    const other = { name: 'other', persistentVolumeClaim: { claimName: 'd' } };
    let isReady = false;
    const waits = manager.waitForAttachAndMount(podOf([CLAIM, other]), signal).then(() => {
      isReady = true;
    });
    await clock.advance(600);
    expect(driver.calls.filter((call) => call === 'stage vol-1')).toHaveLength(2);
    finish();
    await clock.settle();
    expect([driver.calls.at(-1), isReady]).toEqual(['publish vol-2', false]);
    answer();
    await waits;
    expect(driver.calls.at(-1)).toBe('publish vol-1');
  });
});

describe('a failed call to a CSI driver', () => {
  it('V3: after a final failure of the first staging, nothing is unstaged and no file is left', async () => {
    const { fs, manager, driver, clock, events, signal } = makeCsi();
    driver.before = (call) => {
      if (call === 'stage vol-1') throw csiFailure('InvalidArgument', true);
    };
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    expect(events).toEqual([
      'FailedMount: MountVolume.MountDevice failed for volume "pv-1" : rpc error: code = InvalidArgument desc = broken',
    ]);
    await clock.advance(500);
    expect(driver.calls).toEqual(['stage vol-1', 'stage vol-1']);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.advance(300_000);
    expect([driver.calls.length, await fs.exists(STAGED)]).toEqual([2, false]);
  });

  it('V3: after a failure of unknown effect, staging is repeated, and reverted when no pod needs the volume', async () => {
    const { fs, manager, driver, clock, mounter, signal } = makeCsi();
    driver.after = (call) => {
      if (call === 'stage vol-1') throw csiFailure('DeadlineExceeded', false);
    };
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await clock.advance(500);
    expect(driver.calls).toEqual(['stage vol-1', 'stage vol-1']);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.slice(2)).toEqual(['unstage vol-1']);
    expect([[...(await mounter.mountPoints()).keys()], await fs.exists(STAGED)]).toEqual([[], false]);
  });

  it('V3: after a final failure that follows a failure of unknown effect, nothing is reverted', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    driver.before = (call) => {
      if (call === 'stage vol-1') throw csiFailure('Aborted', driver.calls.length > 1);
    };
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await clock.advance(500);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.advance(10_000);
    expect(driver.calls).toEqual(['stage vol-1', 'stage vol-1']);
  });

  it.each([true, false])(
    'V3: after a failed publication (final error: %s), a volume is unpublished unless the error was final',
    async (isFinal) => {
      const { fs, manager, driver, clock, signal } = makeCsi();
      driver.before = (call) => {
        if (call === 'publish vol-1') throw csiFailure('Internal', isFinal);
      };
      await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
      expect(await fs.exists(PUBLISHED)).toBe(!isFinal);
      await manager.waitForUnmount(claimPod('u1'), signal);
      await clock.settle();
      const calls = ['stage vol-1', 'publish vol-1', ...(isFinal ? [] : ['unpublish vol-1']), 'unstage vol-1'];
      expect([driver.calls, await fs.exists(PUBLISHED)]).toEqual([calls, false]);
    },
  );

  it('V1: a volume whose unpublication failed stays, keeps its pod terminating and is not unstaged', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    driver.before = (call) => {
      if (call === 'unpublish vol-1') throw csiFailure('Internal', true);
    };
    const error = await errorOf(manager.waitForUnmount(claimPod('u1'), signal));
    expect(error.message).toContain('kubernetes.io/csi: Unmounter.TearDownAt failed: rpc error: code = Internal');
    expect(await manager.podVolumesExist('u1')).toBe(true);
    driver.before = () => {};
    await clock.advance(500);
    expect(driver.calls.slice(2)).toEqual(['unpublish vol-1', 'unpublish vol-1', 'unstage vol-1']);
    expect(await manager.podVolumesExist('u1')).toBe(false);
  });

  it('V1: a volume that is still mounted although its driver has unpublished it is not forgotten', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    const { unpublishVolume } = driver;
    driver.unpublishVolume = async () => {};
    const error = await errorOf(manager.waitForUnmount(claimPod('u1'), signal));
    expect(error.message).toContain(`${PUBLISHED}/mount is still mounted`);
    driver.unpublishVolume = unpublishVolume.bind(driver);
    await clock.advance(500);
    expect(await manager.podVolumesExist('u1')).toBe(false);
  });

  it('V1: a staged volume is not unstaged while it is mounted at another path', async () => {
    const { fs, manager, driver, clock, mounter, signal } = makeCsi();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await fs.mkdir('/other');
    await mounter.mount('vol-1', '/other', 'csi', []);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.at(-1)).toBe('unpublish vol-1');
    await mounter.unmount('/other');
    await clock.advance(500);
    expect([driver.calls.at(-1), driver.faults]).toEqual(['unstage vol-1', []]);
  });

  it("the pod's error names a CSI driver that is not registered, and the pod's volume is mounted when the driver registers", async () => {
    const { manager, driver, clock, events, registered, fs, signal } = makeCsi();
    registered.clear();
    await errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    expect(events).toEqual([
      'FailedMount: MountVolume.MountDevice failed for volume "pv-1" : kubernetes.io/csi: attacher.MountDevice failed to ' +
        `create newCsiDriverClient: driver name ${DRIVER} not found in the list of registered CSI drivers`,
    ]);
    expect(await fs.exists(STAGED)).toBe(false);
    registered.set(DRIVER, driver);
    manager.csiDriverRegistered();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    expect(clock.monotonic()).toBe(0);
    registered.clear();
    const error = await errorOf(manager.waitForUnmount(claimPod('u1'), signal));
    expect(error.message).toContain('Unmounter.TearDownAt failed to get CSI client: driver name');
    registered.set(DRIVER, driver);
    manager.csiDriverRegistered();
    await clock.settle();
    expect(driver.calls.at(-1)).toBe('unstage vol-1');
  });
});

describe('a CSI driver that does not answer', () => {
  it('W6: a CSI driver that does not answer delays only its own pods, and their errors and waits name driver, call and time', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    driver.before = (call) => (call === 'stage vol-1' ? new Promise(() => {}) : undefined);
    const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await clock.advance(42_000);
    expect(manager.volumeWaits('u1')).toEqual([
      { volume: 'data', what: `NodeStageVolume of driver ${DRIVER} has not answered for 42 s`, sinceMs: START_MS },
    ]);
    await manager.waitForAttachAndMount(podOf([{ name: 'x', emptyDir: {} }], 'u2'), signal);
    await clock.advance(81_000);
    expect((await error).message).toBe(
      'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded: ' +
        `NodeStageVolume of driver ${DRIVER} has not answered for 123 s`,
    );
    // The pod's removal succeeds although the call is unanswered, because nothing of the volume is in the pod's
    // directory.
    await manager.waitForUnmount(claimPod('u1'), signal);
    expect([driver.calls, driver.faults]).toEqual([['stage vol-1'], []]);
  });

  it('V2: a CSI driver gets no second call for a volume while a call is in progress', async () => {
    const { manager, driver, clock, signal } = makeCsi();
    const answer = Promise.withResolvers<void>();
    driver.before = (call) => (call === 'publish vol-1' ? answer.promise : undefined);
    const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.advance(60_000);
    const unmounting = manager.waitForUnmount(claimPod('u1'), signal);
    await clock.advance(60_000);
    expect([driver.calls, manager.volumeWaits('u1')]).toEqual([
      ['stage vol-1', 'publish vol-1'],
      [{ volume: 'pv-1', what: `NodePublishVolume of driver ${DRIVER} has not answered for 120 s`, sinceMs: START_MS }],
    ]);
    answer.resolve();
    await Promise.allSettled([mounting, unmounting]);
    await clock.settle();
    expect([driver.calls.slice(2), driver.faults]).toEqual([['unpublish vol-1', 'unstage vol-1'], []]);
  });
});
