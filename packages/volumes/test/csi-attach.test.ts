import { describe, expect, it } from 'vitest';
import { blockPod, claimPod, DRIVER, inlinePod, makeCsi, UNIQUE } from './csi-helpers.ts';
import { errorOf, podOf, ROOT } from './helpers.ts';

/** Creates a node with a started volume manager and a CSI driver whose volumes a controller attaches. */
async function makeAttachable(csiDriver: Parameters<typeof makeCsi>[2] = {}, spec: Record<string, unknown> = {}) {
  const fixture = makeCsi({}, spec, csiDriver);
  const life = new AbortController();
  const running = fixture.manager.start(life.signal);
  await fixture.clock.settle();
  const stop = async (): Promise<void> => {
    life.abort();
    await running;
  };
  /**
   * Reports the volumes in use to the node's status. If `attached` is present, it becomes the list of attached volumes
   * before.
   */
  const report = async (attached?: readonly string[]): Promise<void> => {
    if (attached !== undefined) fixture.status.attached = attached;
    fixture.manager.volumesReported(fixture.manager.volumesInUse() ?? []);
    await fixture.clock.settle();
  };
  return { ...fixture, stop, report };
}

/** A pod that uses the claim `c` and a second one. */
function podWithTwo(claimName: string, uid: string) {
  const volumes = ['c', claimName].map((name, index) => ({
    ...{ name: index === 0 ? 'data' : 'more', persistentVolumeClaim: { claimName: name } },
  }));
  return podOf(volumes, uid);
}

describe('a CSI volume that a controller attaches', () => {
  it('V5: a CSI volume is staged only after it was reported in use and then attached', async () => {
    const { manager, driver, status, clock, api, report, stop, signal } = await makeAttachable();
    // The node's status lists the volume as attached before its use was reported. Such an attachment must not count.
    status.attached = [UNIQUE];
    manager.volumesReported([]);
    const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    expect([manager.volumesInUse(), status.inUseChanges, driver.calls]).toEqual([[UNIQUE], 2, []]);
    await report([]);
    expect(driver.calls).toEqual([]);
    expect(manager.volumeWaits('u1')).toEqual([
      { volume: 'data', what: 'waits until a controller has attached it to this node' },
    ]);
    status.attached = [UNIQUE];
    manager.attachmentsChanged();
    await mounting;
    expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1']);
    const publishContext = { device: '/dev/sdx' };
    expect([driver.stages[0], driver.publishes[0]]).toMatchObject([{ publishContext }, { publishContext }]);
    expect(api.asked[0]).toBe('attachment csi-f4c24cb450d8bb50ed94a9fe7498f9ee73f8350b12e34a249e60cba8d4711a1a');
    await stop();
  });

  it('a CSI volume stays in use until it is unstaged, and must be reported again for its next pod', async () => {
    const { manager, driver, status, clock, report, stop, signal } = await makeAttachable();
    const use = async (): Promise<void> => {
      const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
      await clock.settle();
      await report([UNIQUE]);
      await mounting;
    };
    await use();
    const unstaging = Promise.withResolvers<void>();
    driver.before = (call) => (call.startsWith('unstage') ? unstaging.promise : undefined);
    await manager.waitForUnmount(claimPod('u1'), signal);
    await clock.settle();
    expect(manager.volumesInUse()).toEqual([UNIQUE]);
    unstaging.resolve();
    await clock.settle();
    expect([manager.volumesInUse(), status.inUseChanges]).toEqual([[], 3]);
    const again = manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    expect(driver.calls.at(-1)).toBe('unstage vol-1');
    await report();
    await again;
    expect(driver.calls.slice(-2)).toEqual(['stage vol-1', 'publish vol-1']);
    await stop();
  });

  it("after 123 s, the pod's error names a CSI volume that is not attached", async () => {
    const { manager, driver, clock, report, stop, signal } = await makeAttachable();
    const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
    await clock.settle();
    await report([]);
    await clock.advance(123_000);
    expect((await error).message).toBe(
      'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded',
    );
    expect(driver.calls).toEqual([]);
    await stop();
  });

  it.each([
    ['file system', 'Filesystem', claimPod],
    ['block device', 'Block', blockPod],
  ])(
    'pods that wait for a CSI volume to be attached get the volume as soon as its CSIDriver requires no attachment (%s)',
    async (_what, volumeMode, podWith) => {
      const { manager, driver, api, clock, report, stop, signal } = await makeAttachable(undefined, { volumeMode });
      const mounting = ['u1', 'u2'].map((uid) => manager.waitForAttachAndMount(podWith(uid), signal));
      await clock.settle();
      await report([]);
      manager.csiDriverChanged();
      await clock.settle();
      expect([manager.volumesInUse(), driver.calls]).toEqual([[UNIQUE], []]);
      const spec = { attachRequired: false, volumeLifecycleModes: ['Persistent'], fsGroupPolicy: 'File' };
      api.drivers.set(DRIVER, { spec });
      manager.csiDriverChanged();
      await Promise.all(mounting);
      expect([manager.volumesInUse(), driver.calls]).toEqual([[], ['stage vol-1', 'publish vol-1', 'publish vol-1']]);
      expect(driver.stages[0]?.publishContext).toEqual({});
      await stop();
    },
  );

  it('a CSI volume that was staged as attached stays in use after its CSIDriver requires no attachment', async () => {
    const { manager, api, clock, report, stop, signal } = await makeAttachable();
    const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    await report([UNIQUE]);
    await mounting;
    api.drivers.set(DRIVER, { spec: { attachRequired: false } });
    manager.csiDriverChanged();
    expect(manager.volumesInUse()).toEqual([UNIQUE]);
    await stop();
  });

  it("after 123 s, the pod's error names a CSI volume that is not attached and a volume that failed", async () => {
    const { manager, claims, clock, report, stop, signal } = await makeAttachable();
    claims.bind('b', 'pv-2', { accessModes: ['ReadWriteOnce'], csi: { driver: 'none', volumeHandle: 'vol-2' } });
    const pod = podWithTwo('b', 'u1');
    const error = errorOf(manager.waitForAttachAndMount(pod, signal));
    await clock.settle();
    await report(['kubernetes.io/csi/none^vol-2']);
    await clock.advance(123_000);
    expect((await error).message).toMatch(
      /^unmounted volumes=\[data more\], unattached volumes=\[data\], failed to process volumes=\[\]: /,
    );
    expect((await error).message).toContain('driver name none not found in the list of registered CSI drivers');
    await stop();
  });

  it('a PVC that cannot be used is reported within 10 s, although another volume of the pod waits to be attached', async () => {
    const { manager, claims, driver, clock, report, stop, signal } = await makeAttachable();
    const pod = podWithTwo('missing', 'u1');
    const messages: string[] = [];
    void errorOf(manager.waitForAttachAndMount(pod, signal)).then(({ message }) => messages.push(message));
    await clock.settle();
    await report([]);
    await clock.advance(10_000);
    expect(messages).toEqual([
      'unmounted volumes=[data more], unattached volumes=[data], failed to process volumes=[more]: error processing PVC default/missing: failed to fetch PVC from API server: persistentvolumeclaims "missing" not found; waits until a controller has attached it to this node',
    ]);
    claims.bind('missing', 'pv-2', { csi: { driver: DRIVER, volumeHandle: 'vol-2' } });
    const mounting = manager.waitForAttachAndMount(pod, signal);
    await clock.settle();
    await report([UNIQUE, UNIQUE.replace('vol-1', 'vol-2')]);
    await mounting;
    expect(driver.calls).toHaveLength(4);
    await stop();
  });

  it.each<[string, Parameters<typeof Object.assign>[1] | undefined, string]>([
    ['is missing', undefined, 'GET error for volume attachment csi-f4c24'],
    [
      'has failed',
      { metadata: {}, status: { attached: false, attachError: { message: 'disk is gone' } } },
      'disk is gone',
    ],
    ['is deleted', { metadata: { deletionTimestamp: 'now' }, status: { attached: true } }, 'is being deleted'],
  ])(
    'V5: a CSI volume is not staged while its VolumeAttachment %s, and the pod gets an event',
    async (_what, attachment, why) => {
      const { api, manager, driver, clock, events, report, stop, signal } = await makeAttachable();
      const attached = api.attachment;
      api.attachment = attachment as typeof attached;
      const error = errorOf(manager.waitForAttachAndMount(claimPod('u1'), signal));
      await clock.settle();
      await report([UNIQUE]);
      expect((await error).message).toContain(why);
      expect(events.at(-1)).toMatch(/^FailedMount: MountVolume\.WaitForAttach failed for volume "pv-1" : /);
      expect(driver.calls).toEqual([]);
      api.attachment = attached;
      await clock.advance(500);
      expect(driver.calls).toEqual(['stage vol-1', 'publish vol-1']);
      await stop();
    },
  );

  it('V4: after a restart, a CSI volume counts as in use if the node status lists it as attached; volumesInUse is kept until the status is known', async () => {
    const { manager, newManager, status, clock, report, stop, signal } = await makeAttachable();
    const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
    await clock.settle();
    await report([UNIQUE]);
    await mounting;
    await stop();
    status.attached = undefined;
    const next = newManager();
    const life = new AbortController();
    expect(next.volumesInUse()).toBeUndefined();
    const running = next.start(life.signal);
    await clock.settle();
    expect(next.volumesInUse()).toBeUndefined();
    status.attached = [];
    expect(next.volumesInUse()).toEqual([]);
    status.attached = [UNIQUE];
    expect(next.volumesInUse()).toEqual([UNIQUE]);
    life.abort();
    await running;
  });

  it.each(['', '/u1/volumes'])(
    'V4: after a restart, volumes in use are kept in the node status until the directory pods%s can be read',
    async (below) => {
      const { manager, newManager, status, clock, fs, report, stop, signal } = await makeAttachable();
      const mounting = manager.waitForAttachAndMount(claimPod('u1'), signal);
      await clock.settle();
      await report([UNIQUE]);
      await mounting;
      await stop();
      fs.injectFault({ code: 'EIO', operation: 'readdir', path: `${ROOT}/pods${below}`, times: 2 });
      const next = newManager();
      const life = new AbortController();
      const running = next.start(life.signal);
      await clock.settle();
      expect(next.volumesInUse()).toBeUndefined();
      next.volumesReported([UNIQUE]);
      expect(next.volumesInUse()).toEqual([UNIQUE]);
      await clock.advance(60_000);
      expect(next.volumesInUse()).toEqual([UNIQUE]);
      // The pod is gone. When the directory can be read, its volume is unstaged and released.
      await clock.advance(60_000);
      await clock.settle();
      status.attached = [UNIQUE];
      expect(next.volumesInUse()).toEqual([UNIQUE]);
      await next.waitForUnmount(claimPod('u1'), signal);
      await clock.settle();
      expect(next.volumesInUse()).toEqual([]);
      life.abort();
      await running;
    },
  );

  it('CSI drivers without attachment and inline volumes need no VolumeAttachment', async () => {
    const { manager, driver, signal, clock } = makeCsi();
    const running = new AbortController();
    void manager.start(running.signal);
    await clock.settle();
    await manager.waitForAttachAndMount(claimPod('u1'), signal);
    await manager.waitForAttachAndMount(inlinePod('u2'), signal);
    expect([manager.volumesInUse(), driver.calls.length]).toEqual([[], 3]);
    running.abort();
  });
});

describe('a CSI volume that cannot be attached because the node is full', () => {
  const exhausted = { metadata: {}, status: { attached: false, attachError: { errorCode: 8, message: 'full' } } };
  const UNMOUNTED = 'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]';
  const TIMEOUT = 'context deadline exceeded';

  /**
   * Waits for the volumes of a pod until the wait times out. Returns the error and the VolumeAttachments that were
   * read.
   */
  async function waitInVain(
    { manager, clock, signal, report, api }: Awaited<ReturnType<typeof makeAttachable>>,
    pod = claimPod('u1'),
  ) {
    const error = errorOf(manager.waitForAttachAndMount(pod, signal));
    await clock.settle();
    await report([]);
    await clock.advance(123_000);
    return { error: await error, asked: api.asked };
  }

  it.each([
    ['file system', 'Filesystem', claimPod('u1')],
    ['block device', 'Block', blockPod('u1')],
  ])(
    "after 123 s, fails a pod whose CSI volume exceeds the node's volume limit, and reports the driver's new limit (%s)",
    async (_what, volumeMode, pod) => {
      const fixture = await makeAttachable({ nodeAllocatableUpdatePeriodSeconds: 60 }, { volumeMode });
      fixture.api.attachment = exhausted;
      const { error } = await waitInVain(fixture, pod);
      expect(error.code).toBe('AttachLimitExceeded');
      expect(error.message).toBe(
        `Node has reached its volume attachment limit, rejecting pod. ${UNMOUNTED}: ${TIMEOUT}`,
      );
      expect(fixture.limits.refreshed).toEqual([DRIVER]);
      await fixture.stop();
    },
  );

  it("after 123 s, fails a pod whose CSI volume exceeds the node's volume limit, even if the driver does not report its limit", async () => {
    const fixture = await makeAttachable({ nodeAllocatableUpdatePeriodSeconds: 60 });
    fixture.api.attachment = exhausted;
    fixture.limits.failure = new Error('driver is gone');
    expect((await waitInVain(fixture)).error.code).toBe('AttachLimitExceeded');
    await fixture.stop();
  });

  it("does not fail a pod whose CSI volume exceeds the node's volume limit if the CSIDriver says that the limit never changes", async () => {
    const fixture = await makeAttachable();
    fixture.api.attachment = exhausted;
    const { error, asked } = await waitInVain(fixture);
    expect([error.code, error.message, asked]).toEqual(['NotMounted', `${UNMOUNTED}: ${TIMEOUT}`, []]);
    await fixture.stop();
  });

  it.each([
    [
      'because of an error other than a full node',
      { metadata: {}, status: { attached: false, attachError: { errorCode: 13 } } },
    ],
    ['yet', { metadata: {}, status: { attached: false } }],
    ['because no controller has begun', undefined],
  ])('does not fail a pod whose CSI volume is not attached %s', async (_why, attachment) => {
    const fixture = await makeAttachable({ nodeAllocatableUpdatePeriodSeconds: 60 });
    fixture.api.attachment = attachment;
    const { error } = await waitInVain(fixture);
    expect([error.code, fixture.limits.refreshed]).toEqual(['NotMounted', []]);
    await fixture.stop();
  });

  it('does not fail a pod whose CSI volume is not attached if the VolumeAttachment cannot be read', async () => {
    const fixture = await makeAttachable({ nodeAllocatableUpdatePeriodSeconds: 60 });
    const { api } = fixture;
    api.getVolumeAttachment = () => Promise.reject(new Error('no connection'));
    expect((await waitInVain(fixture)).error.code).toBe('NotMounted');
    await fixture.stop();
  });
});
