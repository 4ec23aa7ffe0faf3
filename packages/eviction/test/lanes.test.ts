import { sleep } from '@node-agent/async';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EvictionManager } from '../src/index.ts';
import { files, MI, makePod, podStats, World } from './world.ts';

const BOTH = { evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '10%' } };
const SECOND = 1000;

let world: World;
let stop: () => Promise<void>;

/** Creates two pods with heavy use: `writer` takes most of the disk, `hog` most of the memory. */
beforeEach(() => {
  world = new World();
  world.pods = ['writer', 'hog', 'other'].map((name) => makePod(name));
  world.stats = world.pods.map((pod) => usage(pod, { writer: 100, hog: 400, other: 50 }[pod.metadata.name] ?? 0));
});

afterEach(() => stop());

function usage(pod: ReturnType<typeof makePod>, memoryMi: number) {
  const memory = { time: '2020-01-01T00:00:00Z', workingSetBytes: memoryMi * MI };
  const rootfs = files(pod.metadata.name === 'writer' ? 300 * MI : 10 * MI);
  return podStats(pod, { memory, containers: [{ name: 'main', memory, rootfs }] });
}

function start(manager: EvictionManager): EvictionManager {
  stop = world.run(manager);
  return manager;
}

const never = (): Promise<never> => new Promise(() => {});

/** Adds a pod whose emptyDir volume has a size limit of 10 MiB. */
function limited() {
  const over = makePod('over', { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }] });
  world.pods = [...world.pods, over];
  return over;
}

/** Starts a manager. Five seconds later the pod's volume holds 20 MiB and memory is short. */
async function overAndShort(over: ReturnType<typeof limited>): Promise<void> {
  start(world.manager(BOTH));
  await world.clock.advance(5 * SECOND);
  world.stats = [...world.stats, podStats(over, { volume: [{ name: 'cache', ...files(20 * MI) }] })];
  world.memory.available = 50 * MI;
}

/** Creates a reclaim port whose image removal hangs until {@link answer} is called. */
function slowImages() {
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  const reclaim = {
    deleteUnusedContainers: async () => 0,
    deleteUnusedImages: async () => {
      world.log.push('images');
      await promise;
    },
  };
  return { reclaim, answer };
}

describe('eviction manager: reclaim for a disk that hangs', () => {
  test('a hanging image removal does not delay evictions for memory and delays evictions for the disk only until its timeout', async () => {
    const { reclaim } = slowImages();
    const manager = start(world.manager(BOTH, { reclaimTimeoutMs: 120 * SECOND }, { reclaim }));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(14 * SECOND);
    expect(world.log).toEqual(['images']);
    world.memory.available = 50 * MI;
    await world.clock.advance(10 * SECOND);
    expect(world.log).toEqual(['images', 'kill hog', 'gone hog']);
    expect(manager.pressure()).toEqual({ memory: true, disk: true, pid: false });
    await world.clock.advance(80 * SECOND);
    expect(world.log).toEqual(['images', 'kill hog', 'gone hog']);
    // By now, the image removal has timed out and has not freed enough space.
    await world.clock.advance(30 * SECOND);
    expect(world.log.slice(3, 5)).toEqual(['kill writer', 'gone writer']);
  });

  test('with a memory gauge, low memory is detected within two tenths of a second even while an image removal hangs', async () => {
    const { reclaim } = slowImages();
    const gauge = { perSecond: 2 ** 31, available: async () => world.memory.available };
    start(world.manager(BOTH, {}, { reclaim, gauges: [{ ...gauge, signal: 'memory.available' }] }));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(10 * SECOND);
    world.memory.available = 150 * MI;
    await world.clock.advance(1 * SECOND);
    world.memory.available = 50 * MI;
    await world.clock.advance(200);
    expect(world.log).toEqual(['images', 'kill hog', 'gone hog']);
  });

  test('N2: evicts no pod and logs the result if a slow image removal finally frees enough', async () => {
    const { reclaim, answer } = slowImages();
    const manager = start(world.manager(BOTH, {}, { reclaim }));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(34 * SECOND);
    world.disk.available = 500 * MI;
    answer();
    await world.clock.advance(2 * SECOND);
    expect(manager.explain().decisions).toMatchObject([{ outcome: 'reclaimed', available: '500Mi' }]);
    await world.clock.advance(60 * SECOND);
    expect(world.log).toEqual(['images']);
  });

  test('N2: evicts a pod immediately, by stats newer than the removal, if a slow image removal did not free enough', async () => {
    const { reclaim, answer } = slowImages();
    start(world.manager(BOTH, {}, { reclaim }));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(34 * SECOND);
    expect(world.log).toEqual(['images']);
    answer();
    await world.clock.advance(2 * SECOND);
    expect(world.log.slice(0, 3)).toEqual(['images', 'kill writer', 'gone writer']);
  });

  test('aborts a hanging image removal when the manager stops', async () => {
    const { reclaim } = slowImages();
    start(world.manager(BOTH, {}, { reclaim }));
    world.disk.available = 50 * MI;
    await world.clock.advance(15 * SECOND);
    await stop();
    expect(world.log).toEqual(['images']);
  });
});

test('N2: repeats the reclaim when the disk is short again, even if the stats after the first reclaim were lost', async () => {
  start(world.manager(BOTH));
  await world.clock.advance(1 * SECOND);
  world.disk.available = 50 * MI;
  world.onReclaim = (what) => {
    if (what !== 'images' || world.summary !== undefined) return;
    world.disk.available = 500 * MI;
    // The request for the first stats after the removal fails.
    world.summary = async () => {
      world.summary = undefined;
      throw new Error('away');
    };
  };
  await world.clock.advance(600 * SECOND);
  expect(world.log).toEqual(['containers', 'images']);
  world.onReclaim = () => {};
  world.disk.available = 50 * MI;
  await world.clock.advance(10 * SECOND);
  expect(world.log.slice(2, 5)).toEqual(['containers', 'images', 'kill writer']);
});

test('N2: removes images before pods are evicted once all pods are known, even if dead containers were removed before', async () => {
  world.arePodsKnown = false;
  start(world.manager(BOTH));
  await world.clock.advance(1 * SECOND);
  world.disk.available = 50 * MI;
  world.onReclaim = () => {
    if (world.arePodsKnown) return;
    world.arePodsKnown = true;
    // The request for the first stats after the removal fails.
    world.summary = async () => {
      world.summary = undefined;
      throw new Error('away');
    };
  };
  await world.clock.advance(20 * SECOND);
  expect(world.log.slice(0, 4)).toEqual(['containers', 'containers', 'images', 'kill writer']);
});

describe('eviction manager: pod that was evicted for a disk and does not stop', () => {
  beforeEach(() => {
    world.kill = (pod) => (pod.metadata.name === 'writer' ? never() : Promise.resolve(world.gone(pod)));
  });

  test('N2: a pod that does not stop after a disk eviction blocks further disk evictions, but no memory evictions', async () => {
    const manager = start(world.manager(BOTH));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(14 * SECOND);
    expect(world.log).toEqual(['containers', 'images', 'kill writer']);
    world.memory.available = 50 * MI;
    await world.clock.advance(10 * SECOND);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'kill hog', 'gone hog']);
    expect(manager.pressure().memory).toBe(true);
    // The evicted pod has up to a minute to stop, and its disk space has half a minute more to become free.
    await world.clock.advance(60 * SECOND);
    expect(world.log.slice(5)).toEqual([]);
    await world.clock.advance(20 * SECOND);
    expect(world.log.slice(5)).toEqual(['containers', 'images']);
    // The disk space has ten seconds more to become free.
    await world.clock.advance(8 * SECOND);
    expect(world.log.slice(7)).toEqual(['containers', 'images', 'kill other', 'gone other']);
  });

  test('N2: a pod that does not stop after a disk eviction blocks memory evictions if it is the first candidate', async () => {
    world.stats = world.stats.map((stats) => (stats.podRef.name === 'writer' ? usage(makePod('writer'), 600) : stats));
    start(world.manager(BOTH));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(14 * SECOND);
    world.memory.available = 50 * MI;
    await world.clock.advance(60 * SECOND);
    expect(world.log).toEqual(['containers', 'images', 'kill writer']);
    await world.clock.advance(45 * SECOND);
    expect(world.log.slice(3, 5)).toEqual(['kill hog', 'gone hog']);
  });
});

test('N2: a pod evicted for a disk gets one second if a hard memory threshold would select it while it terminates', async () => {
  const writer = makePod('writer', { terminationGracePeriodSeconds: 600 });
  world.pods = [writer, ...world.pods.slice(1)];
  world.stats = world.stats.map((stats) => (stats.podRef.name === 'writer' ? usage(writer, 600) : stats));
  world.kill = async (pod) => {
    if (world.kills.at(-1)?.how.gracePeriodSeconds === 1) world.gone(pod);
    else await never();
  };
  const soft = {
    evictionSoft: { 'nodefs.available': '10%' },
    evictionSoftGracePeriodMs: { 'nodefs.available': SECOND },
  };
  const hard = { evictionHard: { 'memory.available': '100Mi' } };
  start(world.manager({ ...soft, ...hard }, { maxPodGracePeriodSeconds: 300 }));
  await world.clock.advance(1 * SECOND);
  world.disk.available = 50 * MI;
  await world.clock.advance(30 * SECOND);
  expect(world.kills.map(({ pod, how }) => [pod.metadata.name, how.gracePeriodSeconds])).toEqual([['writer', 300]]);
  world.memory.available = 50 * MI;
  await world.clock.advance(15 * SECOND);
  expect(world.kills.map(({ pod, how }) => [pod.metadata.name, how.gracePeriodSeconds])).toEqual([
    ['writer', 300],
    ['writer', 1],
  ]);
  expect(world.log).toContain('gone writer');
});

test('a pod over its local storage limit that does not stop does not block evictions for memory', async () => {
  const over = limited();
  world.stats = [...world.stats, podStats(over, { volume: [{ name: 'cache', ...files(20 * MI) }] })];
  world.kill = (pod) => (pod === over ? never() : Promise.resolve(world.gone(pod)));
  start(world.manager(BOTH));
  await world.clock.advance(5 * SECOND);
  expect(world.log).toEqual(['kill over']);
  world.memory.available = 50 * MI;
  await world.clock.advance(15 * SECOND);
  expect(world.log).toEqual(['kill over', 'kill hog', 'gone hog']);
});

test('N2: an eviction for memory in the same round waits only briefly for a pod that is over its local storage limit', async () => {
  const over = limited();
  world.kill = (pod) => (pod === over ? never() : Promise.resolve(world.gone(pod)));
  await overAndShort(over);
  await world.clock.advance(6.9 * SECOND);
  expect(world.log).toEqual(['kill over']);
  await world.clock.advance(0.2 * SECOND);
  expect(world.log.slice(0, 2)).toEqual(['kill over', 'kill hog']);
});

test('N2: evicts no other pod for memory if a pod over its local storage limit frees enough memory soon after its eviction', async () => {
  const over = limited();
  world.kill = async (pod) => {
    await sleep(world.clock, 1500);
    world.memory.available = 800 * MI;
    world.gone(pod);
  };
  await overAndShort(over);
  await world.clock.advance(30 * SECOND);
  expect(world.log).toEqual(['kill over', 'gone over']);
});

describe('N2: no eviction by stats from before a wait', () => {
  test('N2: takes new stats before an eviction for memory if a pod over its local storage limit did not stop', async () => {
    const over = limited();
    world.kill = (pod) => (pod === over ? never() : Promise.resolve(world.gone(pod)));
    await overAndShort(over);
    await world.clock.advance(6 * SECOND);
    expect(world.log).toEqual(['kill over']);
    world.memory.available = 800 * MI;
    await world.clock.advance(15 * SECOND);
    expect(world.log).toEqual(['kill over']);
  });

  test('N2: takes new stats before an eviction for process IDs if a reclaim for a disk hung', async () => {
    const { reclaim } = slowImages();
    let curproc = 100;
    world.summary = async () => {
      const truth = world.truth();
      const time = new Date(world.clock.now()).toISOString();
      return { ...truth, node: { ...truth.node, rlimit: { time, maxpid: 32_768, curproc } } };
    };
    const hard = { 'nodefs.available': '10%', 'pid.available': '10%' };
    start(world.manager({ evictionHard: hard }, {}, { reclaim }));
    await world.clock.advance(1 * SECOND);
    world.disk.available = 50 * MI;
    curproc = 32_700;
    await world.clock.advance(12 * SECOND);
    expect(world.log).toEqual(['images']);
    curproc = 100;
    await world.clock.advance(15 * SECOND);
    expect(world.log).toEqual(['images']);
    curproc = 32_700;
    await world.clock.advance(10 * SECOND);
    expect(world.log.slice(0, 2)).toEqual(['images', 'kill hog']);
  });
});

test('N2: does not evict a pod over its limit again if the pod was evicted for memory while the manager waited for another pod', async () => {
  const [one, two] = ['one', 'two'].map((name) =>
    makePod(name, { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }] }),
  );
  world.pods = [one, two].flatMap((pod) => pod ?? []);
  const volume = [{ name: 'cache', ...files(20 * MI) }];
  world.stats = world.pods.map((pod) => ({ ...usage(pod, pod === two ? 500 : 1), volume }));
  world.kill = (pod) => (pod === one ? never() : Promise.resolve(world.gone(pod)));
  start(world.manager(BOTH));
  await world.clock.advance(5 * SECOND);
  world.memory.available = 50 * MI;
  await world.clock.advance(20 * SECOND);
  expect(world.log).toEqual(['kill one', 'kill two', 'gone two']);
  await world.clock.advance(120 * SECOND);
  expect(world.log.filter((what) => what === 'kill two')).toHaveLength(1);
});

describe('eviction manager: evicted pod with a long grace period', () => {
  const SOFT = {
    evictionSoft: { 'memory.available': '300Mi' },
    evictionSoftGracePeriodMs: { 'memory.available': 5 * SECOND },
  };
  beforeEach(() => {
    world.pods = world.pods.map(({ metadata }) => makePod(metadata.name, { terminationGracePeriodSeconds: 600 }));
    // The pod uses its whole grace period.
    const { promise, resolve } = Promise.withResolvers<void>();
    world.kill = async (pod) => {
      if (world.kills.at(-1)?.how.gracePeriodSeconds !== 1) return promise;
      if (world.pods.includes(pod)) world.gone(pod);
      resolve();
    };
  });
  const graces = () => world.kills.map(({ pod, how }) => `${pod.metadata.name} ${how.gracePeriodSeconds}`);
  /**
   * Evicts a pod for a soft memory threshold with a long grace period, then lowers memory below a hard threshold, which
   * shortens the grace period to one second.
   */
  async function hurried(manager: EvictionManager): Promise<void> {
    start(manager);
    await world.clock.advance(1 * SECOND);
    world.memory.available = 250 * MI;
    await world.clock.advance(60 * SECOND);
    expect(graces()).toEqual(['hog 600']);
    world.memory.available = 50 * MI;
    await world.clock.advance(10 * SECOND);
    expect(graces()).toEqual(['hog 600', 'hog 1']);
  }

  test('N2: waits for a pod with a shortened grace period no longer than for a pod that got the short one at first', async () => {
    world.kill = async (pod) => {
      if (pod.metadata.name !== 'hog') return world.gone(pod);
      if (world.kills.at(-1)?.how.gracePeriodSeconds !== 1) return await never();
      await sleep(world.clock, 10 * SECOND);
      throw new Error('timeout waiting to kill pod');
    };
    await hurried(world.manager({ ...SOFT, ...BOTH }, { maxPodGracePeriodSeconds: 600 }));
    // The evicted pod has ten seconds to stop, and half a minute to be gone.
    await world.clock.advance(55 * SECOND);
    expect(graces()[2]).toBe('writer 1');
  });

  test('N2: shortens the grace period of an evicted pod when a hard threshold is met, and evicts no other pod', async () => {
    const manager = world.manager({ ...SOFT, ...BOTH }, { maxPodGracePeriodSeconds: 600 });
    await hurried(manager);
    expect(world.log).toEqual(['kill hog', 'kill hog', 'gone hog']);
    const { phase, reason } = world.statusAfter('hog', { phase: 'Running' });
    expect([phase, reason]).toEqual(['Running', undefined]);
    expect(manager.explain().decisions).toMatchObject([{ outcome: 'evicted', evicted: 'uid-hog' }]);
    expect(world.metrics.text()).toContain('kubelet_evictions{eviction_signal="memory.available"} 1');
  });

  test('N2: an evicted pod with a long grace period blocks neither evictions for a disk nor updates of conditions', async () => {
    const manager = start(world.manager({ ...SOFT, ...BOTH }, { maxPodGracePeriodSeconds: 600 }));
    await world.clock.advance(1 * SECOND);
    world.memory.available = 250 * MI;
    await world.clock.advance(30 * SECOND);
    world.disk.available = 50 * MI;
    await world.clock.advance(10 * SECOND);
    expect(graces().slice(0, 2)).toEqual(['hog 600', 'writer 1']);
    expect(manager.pressure()).toEqual({ memory: true, disk: true, pid: false });
  });
});
