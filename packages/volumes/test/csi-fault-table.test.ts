import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import type { VolumeManager } from '../src/index.ts';
import {
  type CsiFixture,
  claimPod,
  csiFailure,
  DRIVER,
  inlinePod,
  MemoryDriver,
  makeCsi,
  STAGED,
} from './csi-helpers.ts';
import { ROOT } from './helpers.ts';

const OTHER = 'other.csi.example.com';
const CALLS = ['stage', 'publish', 'unpublish', 'unstage'] as const;
const MOUNTED = [`${STAGED}/globalmount`, `${ROOT}/pods/u1/volumes/kubernetes.io~csi/pv-1/mount`].sort();

type Call = (typeof CALLS)[number];

interface Running {
  readonly manager: VolumeManager;
  readonly stop: () => Promise<void>;
}

/** Creates a node with two CSI drivers. The tests inject faults into the first driver. */
function make(): CsiFixture & { readonly run: (manager: VolumeManager) => Running } {
  const fixture = makeCsi();
  fixture.registered.set(OTHER, new MemoryDriver(fixture, OTHER));
  fixture.api.drivers.set(OTHER, { spec: { volumeLifecycleModes: ['Ephemeral'] } });
  const run = (manager: VolumeManager): Running => {
    const life = new AbortController();
    const running = manager.start(life.signal);
    const stop = async (): Promise<void> => {
      life.abort();
      await running;
    };
    return { manager, stop };
  };
  return { ...fixture, run };
}

/**
 * Returns whether the kubelet makes this call only when the pod terminates. The test then removes the pod before it
 * injects the fault.
 */
const isEnd = (call: Call): boolean => call === 'unpublish' || call === 'unstage';

/**
 * Starts to mount the volume of `u1`, or, if the call belongs to the pod's termination, mounts it and starts to remove
 * it. Does not wait for the call with the fault.
 */
async function begin({ clock, signal }: CsiFixture, manager: VolumeManager, call: Call): Promise<void> {
  const pod = claimPod('u1');
  const mounting = manager.waitForAttachAndMount(pod, signal).catch(() => undefined);
  await clock.settle();
  if (!isEnd(call)) return;
  await mounting;
  void manager.waitForUnmount(pod, signal).catch(() => undefined);
  await clock.settle();
}

/** Starts a pod with a volume of the other driver. @returns the time that it took, in milliseconds */
async function otherPod({ clock, signal }: CsiFixture, manager: VolumeManager): Promise<number> {
  const pod: Pod = inlinePod('u2', { driver: OTHER });
  const startMs = clock.monotonic();
  const mounting = manager.waitForAttachAndMount(pod, signal).then(() => clock.monotonic() - startMs);
  await clock.advance(1);
  const tookMs = await mounting;
  await manager.waitForUnmount(pod, signal);
  return tookMs;
}

/**
 * Waits until the node has recovered from a fault. @returns the mount points, and the violated rules of the CSI
 * specification
 */
async function recovered({ clock, signal, mounter, driver }: CsiFixture, manager: VolumeManager, call: Call) {
  const pod = claimPod('u1');
  const done = isEnd(call) ? manager.waitForUnmount(pod, signal) : manager.waitForAttachAndMount(pod, signal);
  done.catch(() => undefined);
  await clock.advance(30_000);
  await (isEnd(call) ? manager.waitForUnmount(pod, signal) : manager.waitForAttachAndMount(pod, signal));
  await clock.advance(30_000);
  return [[...(await mounter.mountPoints()).keys()].sort(), driver.faults];
}

describe.each(CALLS)('a fault in the call %s', (call) => {
  const expected = [isEnd(call) ? [] : MOUNTED, []];

  it.each(['before', 'after'] as const)(
    'V3: if a CSI driver is killed %s a call takes effect, the call is repeated when the driver is back, and no other pod waits',
    async (at) => {
      const fixture = make();
      const { driver, registered, manager, run } = fixture;
      const { stop } = run(manager);
      driver[at] = (made) => {
        if (made !== `${call} vol-1`) return;
        registered.delete(DRIVER);
        throw csiFailure('Unavailable', false);
      };
      await begin(fixture, manager, call);
      expect(registered.has(DRIVER)).toBe(false);
      expect(await otherPod(fixture, manager)).toBeLessThanOrEqual(1);
      driver[at] = () => {};
      registered.set(DRIVER, driver);
      manager.csiDriverRegistered();
      expect(await recovered(fixture, manager, call)).toEqual(expected);
      await stop();
    },
  );

  it.each(['before', 'after'] as const)(
    "K1, V4: if CSI driver and kubelet are killed %s a call takes effect, the volume's operation continues after a restart, and no other pod waits",
    async (at) => {
      const fixture = make();
      const { driver, registered, manager, newManager, run, clock } = fixture;
      const former = run(manager);
      let killing: Promise<void> | undefined;
      driver[at] = (made) => {
        if (made !== `${call} vol-1` || killing !== undefined) return;
        registered.delete(DRIVER);
        killing = former.stop();
        throw csiFailure('Unavailable', false);
      };
      await begin(fixture, manager, call);
      await killing;
      driver[at] = () => {};
      const next = run(newManager());
      await clock.settle();
      expect(await otherPod(fixture, next.manager)).toBeLessThanOrEqual(1);
      registered.set(DRIVER, driver);
      next.manager.csiDriverRegistered();
      expect(await recovered(fixture, next.manager, call)).toEqual(expected);
      await next.stop();
    },
  );

  it('W6: a CSI driver that does not answer delays only its own pod, and the pod continues when the driver answers', async () => {
    const fixture = make();
    const { driver, manager, run, clock } = fixture;
    const { stop } = run(manager);
    const answer = Promise.withResolvers<void>();
    driver.before = (made) => (made === `${call} vol-1` ? answer.promise : undefined);
    await begin(fixture, manager, call);
    await clock.advance(600_000);
    expect(await otherPod(fixture, manager)).toBeLessThanOrEqual(1);
    expect(driver.calls.filter((made) => made === `${call} vol-1`)).toHaveLength(1);
    answer.resolve();
    expect(await recovered(fixture, manager, call)).toEqual(expected);
    await stop();
  });
});
