import type { EvictionPodStats, EvictionSummary } from '@node-agent/eviction';
import { parseThresholds } from '@node-agent/eviction';
import { busyboxImage } from '@node-agent/fake-cri';
import type { Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { AssemblySettings } from '../src/ports.ts';
import { makePod, makeWorld, type StartedKubelet, startKubelet, type World } from './node.ts';

const MI = 2 ** 20;

/** Returns a pod from the API server. Such a pod can be evicted; static pods are critical and cannot. */
function apiPod(name: string): Pod {
  const pod = makePod(name);
  return { ...pod, metadata: { ...pod.metadata, annotations: {} } };
}

/** Values that a test sets: the free space and memory of the node, and the memory that each pod uses. */
interface Measured {
  availableBytes: number;
  diskFreeBytes?: number;
  readonly used: Map<string, number>;
}

function evicting(
  world: World,
  measured: Measured,
  eviction: Partial<NonNullable<AssemblySettings['eviction']>> = {},
): StartedKubelet {
  const statistics = {
    async summary(): Promise<EvictionSummary> {
      const time = new Date(world.clock.now()).toISOString();
      const pods = [...measured.used].map(([name, workingSetBytes]): EvictionPodStats => {
        const memory = { time, workingSetBytes };
        const podRef = { name, namespace: 'default', uid: `uid-${name}` };
        return { podRef, memory, containers: [{ name: 'main', memory }] };
      });
      // The memory of a terminated pod counts as available.
      const freed = [...measured.used].filter(
        ([name]) => started.status.getPodStatus(`uid-${name}`)?.phase === 'Failed',
      );
      const availableBytes = freed.reduce((sum, [, bytes]) => sum + bytes, measured.availableBytes);
      const { diskFreeBytes } = measured;
      const fs = { time, availableBytes: diskFreeBytes ?? 0, capacityBytes: 1000 * MI };
      const memory = { time, availableBytes, workingSetBytes: 1000 * MI - availableBytes };
      return { node: { memory, ...(diskFreeBytes !== undefined && { fs }) }, pods };
    },
  };
  const thresholds = parseThresholds({ evictionHard: { 'memory.available': '100Mi' } });
  let set: (pods: readonly Pod[]) => void = () => {};
  const api = {
    name: 'api' as const,
    make: (give: typeof set) => {
      set = give;
      return { start: async () => {} };
    },
  };
  const settings = { eviction: { thresholds, ...eviction }, sources: [api] };
  const statfs = async () => {
    const left = measured.diskFreeBytes ?? 0;
    return {
      ...{ totalBytes: 1000 * MI, freeBytes: left, availableBytes: left },
      ...{ inodes: 1000, freeInodes: 900 },
    };
  };
  const stats = { cgroups: () => Promise.reject(new Error('there are none')), disks: { statfs } };
  const started: StartedKubelet = startKubelet(world, [], undefined, [], { statistics, stats }, settings);
  return { ...started, setPods: (pods) => set(pods) };
}

/** Creates a machine on which the runtime has its images on the kubelet's disk. */
async function measuredWorld(): Promise<World> {
  const world = await makeWorld();
  await world.fs.mkdir('/var/lib/fake-cri');
  return world;
}

const failed = (kubelet: StartedKubelet, name: string) => {
  const status = kubelet.status.getPodStatus(`uid-${name}`);
  return status?.phase === 'Failed' ? status : undefined;
};

describe('assembled kubelet with eviction', () => {
  test('eviction detects a disk that fills up between two measurements', async () => {
    const world = await measuredWorld();
    const measured: Measured = { availableBytes: 900 * MI, diskFreeBytes: 900 * MI, used: new Map() };
    const thresholds = parseThresholds({ evictionHard: { 'nodefs.available': '100Mi' } });
    const kubelet = evicting(world, measured, { thresholds });
    kubelet.setPods([apiPod('a')]);
    await world.clock.advance(21_000);
    measured.diskFreeBytes = 50 * MI;
    await world.clock.advance(1500);
    expect(failed(kubelet, 'a')).toMatchObject({ reason: 'Evicted' });
    await kubelet.stop();
  });

  test('N4: a full disk removes no images for up to five minutes while a pod source has not reported', async () => {
    const world = await measuredWorld();
    world.cri.addImage(busyboxImage('needed'));
    world.cri.addImage(busyboxImage('unused'));
    const tags = async (): Promise<string> =>
      (await world.cri.listImages({})).images.flatMap(({ repoTags }) => repoTags).join();
    const measured: Measured = { availableBytes: 900 * MI, diskFreeBytes: 50 * MI, used: new Map() };
    const thresholds = parseThresholds({ evictionHard: { 'nodefs.available': '100Mi' } });
    const settings = { thresholds, localStorageCapacityIsolation: false };
    const before = evicting(world, { ...measured, diskFreeBytes: 900 * MI }, settings);
    // After this time, the images are old enough to be removed.
    await world.clock.advance(200_000);
    await before.stop();

    const kubelet = evicting(world, measured, settings);
    await world.clock.advance(60_000);
    expect(await tags()).toMatch(/needed.*unused/);
    const container = { name: 'main', image: 'needed', imagePullPolicy: 'Never', command: ['sleep', 'infinity'] };
    const pod = apiPod('a');
    // While disk space is short, only critical pods start.
    kubelet.setPods([{ ...pod, spec: { ...pod.spec, priority: 2_000_000_000, containers: [container] } }]);
    const removeImage = world.cri.removeImage.bind(world.cri);
    Object.assign(world.cri, {
      // Removing an image frees enough space.
      removeImage: async (...args: Parameters<typeof removeImage>) => {
        measured.diskFreeBytes = 900 * MI;
        return await removeImage(...args);
      },
    });
    await world.clock.advance(20_000);
    expect(await tags()).not.toContain('unused');
    expect(await tags()).toContain('needed');
    await kubelet.stop();

    world.cri.addImage(busyboxImage('unused'));
    measured.diskFreeBytes = 50 * MI;
    const alone = evicting(world, measured, settings);
    await world.clock.advance(280_000);
    expect(await tags()).toContain('unused');
    await world.clock.advance(40_000);
    expect(await tags()).not.toContain('unused');
    await alone.stop();
  });

  test('a resize is delayed while the node has disk pressure', async () => {
    const world = await measuredWorld();
    const measured: Measured = { availableBytes: 900 * MI, diskFreeBytes: 900 * MI, used: new Map() };
    const thresholds = parseThresholds({
      evictionSoft: { 'nodefs.available': '100Mi' },
      evictionSoftGracePeriodMs: { 'nodefs.available': 3_600_000 },
    });
    const kubelet = evicting(world, measured, { thresholds, pressureTransitionMs: 30_000 });
    const sized = (cpu: string, generation: number): Pod => {
      const pod = apiPod('a');
      const containers = pod.spec.containers.map((one) => ({ ...one, resources: { requests: { cpu } } }));
      return { ...pod, metadata: { ...pod.metadata, generation }, spec: { ...pod.spec, containers } };
    };
    const pending = () =>
      kubelet.status.getPodStatus('uid-a')?.conditions?.find(({ type }) => type === 'PodResizePending');
    kubelet.setPods([sized('100m', 1)]);
    await world.clock.advance(15_000);
    measured.diskFreeBytes = 50 * MI;
    await world.clock.advance(15_000);

    kubelet.setPods([sized('200m', 2)]);
    await world.clock.advance(5_000);
    expect(pending()).toMatchObject({ reason: 'Deferred', message: 'The node had condition: [DiskPressure]. ' });
    measured.diskFreeBytes = 900 * MI;
    await world.clock.advance(300_000);
    expect(pending()).toBeUndefined();
    await kubelet.stop();
  });

  test("N2: under memory pressure, evicts the pod that uses most memory with upstream's message, and keeps the other pod", async () => {
    const world = await measuredWorld();
    const measured: Measured = {
      availableBytes: 900 * MI,
      used: new Map([
        ['a', 10 * MI],
        ['b', 300 * MI],
      ]),
    };
    const kubelet = evicting(world, measured);
    const pods = [apiPod('a'), apiPod('b')];
    kubelet.setPods(pods);
    await world.clock.advance(15_000);
    expect(kubelet.status.getPodStatus('uid-b')?.phase).toBe('Running');

    measured.availableBytes = 50 * MI;
    await world.clock.advance(10_000);
    const message =
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
      'Container main was using 300Mi, request is 0, has larger consumption of memory. ';
    await world.clock.advance(10_000);
    const status = failed(kubelet, 'b');
    expect(status).toMatchObject({ phase: 'Failed', reason: 'Evicted', message });
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }),
    );
    expect(status?.containerStatuses?.[0]?.state?.terminated).toBeDefined();
    expect(kubelet.status.getPodStatus('uid-a')?.phase).toBe('Running');
    expect(kubelet.kubelet.explain('default', 'b')).toMatchObject({
      reason: 'Evicted',
      evictions: [{ cause: 'memory.available<100Mi', evicted: 'uid-b', ranked: [{ name: 'b' }, { name: 'a' }] }],
    });
    expect(kubelet.kubelet.explainEviction()).toMatchObject({ conditions: ['MemoryPressure'] });

    // Under memory pressure, no BestEffort pod is admitted.
    kubelet.setPods([...pods, apiPod('late')]);
    await world.clock.advance(1_000);
    expect(failed(kubelet, 'late')).toMatchObject({
      reason: 'Evicted',
      message: 'Pod was rejected: The node had condition: [MemoryPressure]. ',
    });
    await kubelet.stop();
  });

  test('N2: a restarted kubelet evicts no pod for a shortage that ended before the restart, and one in the next shortage', async () => {
    const world = await measuredWorld();
    const measured: Measured = { availableBytes: 900 * MI, used: new Map([['a', 300 * MI]]) };
    const first = evicting(world, measured);
    first.setPods([apiPod('a')]);
    await world.clock.advance(15_000);
    // The memory shortage begins just before the kubelet stops, and ends while no kubelet runs.
    measured.availableBytes = 50 * MI;
    await first.stop();
    measured.availableBytes = 900 * MI;
    const second = evicting(world, measured);
    second.setPods([apiPod('a')]);
    await world.clock.advance(30_000);
    expect(second.status.getPodStatus('uid-a')?.phase).toBe('Running');
    measured.availableBytes = 50 * MI;
    await world.clock.advance(15_000);
    expect(failed(second, 'a')).toMatchObject({ reason: 'Evicted' });
    await second.stop();
  });

  test('N2: the grace period of a pod in a long soft eviction is cut to one second when a hard threshold is met', async () => {
    const world = await measuredWorld();
    const measured: Measured = { availableBytes: 900 * MI, used: new Map([['a', 300 * MI]]) };
    const thresholds = parseThresholds({
      evictionHard: { 'memory.available': '100Mi' },
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriodMs: { 'memory.available': 1000 },
    });
    const kubelet = evicting(world, measured, { thresholds, maxPodGracePeriodSeconds: 600 });
    const pod = apiPod('a');
    const [main] = pod.spec.containers;
    const containers = [{ ...main, name: 'main', command: ['sh', '-c', 'trap "" TERM; sleep infinity'] }];
    kubelet.setPods([{ ...pod, spec: { ...pod.spec, containers, terminationGracePeriodSeconds: 600 } }]);
    const running = async () => (await world.cri.listContainers({ filter: { state: { state: 1 } } })).containers.length;
    await world.clock.advance(15_000);
    measured.availableBytes = 150 * MI;
    await world.clock.advance(120_000);
    expect(await running()).toBe(1);
    // The status of the evicted pod is Failed, so the fake stats add its 300 MiB to the available memory.
    measured.availableBytes = 50 * MI - 300 * MI;
    await world.clock.advance(15_000);
    expect(await running()).toBe(0);
    expect(failed(kubelet, 'a')).toMatchObject({ reason: 'Evicted', message: expect.stringContaining('200Mi') });
    await kubelet.stop();
  });

  test('without stats, no pod is evicted and all pods are admitted', async () => {
    const world = await measuredWorld();
    const kubelet = startKubelet(world);
    kubelet.setPods([apiPod('a')]);
    await world.clock.advance(60_000);
    expect(kubelet.status.getPodStatus('uid-a')?.phase).toBe('Running');
    expect(kubelet.kubelet.explainEviction()).toBeUndefined();
    await kubelet.stop();
  });
});
