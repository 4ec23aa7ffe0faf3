import { silentLogger } from '@node-agent/telemetry';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EvictionManager, type Gauge, nextGaugeReadMs, parseThresholds } from '../src/index.ts';
import { asking, files, MI, makePod, ONE_DISK, podStats, usingMemory, World } from './world.ts';

const HARD = { evictionHard: { 'memory.available': '100Mi' } };
const DISK = { evictionHard: { 'nodefs.available': '10%' } };

let world: World;
let running: { readonly stop: () => Promise<void> }[];

beforeEach(() => {
  world = new World();
  running = [];
});

afterEach(async () => {
  for (const { stop } of running) await stop();
});

function start(manager: EvictionManager): EvictionManager {
  running.push({ stop: world.run(manager) });
  return manager;
}

/** Creates three pods that use 300, 200 and 100 MiB more than their requests. */
function threePods(): void {
  world.pods = ['big', 'middle', 'small'].map((name) => makePod(name));
  world.stats = world.pods.map((pod, index) => usingMemory(pod, (3 - index) * 100 * MI));
}

const events = (name: string) => world.events.eventsOf({ kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` });

describe('eviction manager: node without pressure', () => {
  const nodeAlone = () => {
    const asked: string[] = [];
    const stats = {
      summary: async () => {
        asked.push('pods');
        return world.truth();
      },
      nodeSummary: async () => {
        asked.push('node');
        return { ...world.truth(), pods: [] };
      },
    };
    return { asked, stats };
  };

  test('takes node stats without pod stats until a threshold is crossed', async () => {
    threePods();
    const { asked, stats } = nodeAlone();
    start(world.manager(HARD, {}, { stats }));
    await world.clock.advance(35_000);
    // At the start, the manager reads one more summary for the disks, once the disk layout is known.
    expect(asked).toEqual(['node', 'node', 'node', 'node', 'node']);
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(asked.slice(5, 7)).toEqual(['node', 'pods']);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test('N2: takes pod stats until the minimum reclaim is reached, even if no threshold is met any more', async () => {
    world.pods = ['a', 'b', 'c'].map((name) => makePod(name));
    world.stats = world.pods.map((pod) => usingMemory(pod, 50 * MI));
    const { stats } = nodeAlone();
    const withMinimum = { ...HARD, evictionMinimumReclaim: { 'memory.available': '80Mi' } };
    start(world.manager(withMinimum, {}, { stats }));
    world.memory.available = 90 * MI;
    await world.clock.advance(40_000);
    // After the first eviction, 140 MiB are available: more than the threshold, but less than the threshold plus the
    // minimum reclaim.
    expect(world.log).toEqual(['kill a', 'gone a', 'kill b', 'gone b']);
  });

  test('N2: with low disk, takes pod stats before and after the reclaim, so new usage of writable layers counts', async () => {
    const { asked, stats } = nodeAlone();
    world.pods = [makePod('writer')];
    world.stats = world.pods.map((pod) => podStats(pod, { containers: [{ name: 'main', rootfs: files(50 * MI) }] }));
    world.onReclaim = (what) => asked.push(what);
    start(world.manager(DISK, {}, { stats }));
    await world.clock.advance(5_000);
    world.disk.available = 90 * MI;
    world.kill = async (pod) => {
      world.gone(pod);
      world.disk.available = 900 * MI;
    };
    await world.clock.advance(10_000);
    expect(asked.slice(2, 7)).toEqual(['node', 'pods', 'containers', 'images', 'pods']);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'gone writer']);
  });

  test('with low disk and nothing to reclaim, takes pod stats before it chooses a pod', async () => {
    const { asked, stats } = nodeAlone();
    world.layout = { dedicatedImageFs: true, splitContainerFs: false };
    world.pods = ['quiet', 'writer'].map((name) => makePod(name));
    world.stats = world.pods.map((pod, index) =>
      podStats(pod, { containers: [{ name: 'main', logs: files((1 + index) * MI) }] }),
    );
    world.kill = async (pod) => {
      world.gone(pod);
      world.disk.available = 900 * MI;
    };
    start(world.manager(DISK, {}, { stats }));
    await world.clock.advance(5_000);
    world.disk.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(asked.slice(2, 4)).toEqual(['node', 'pods']);
    expect(world.log).toEqual(['kill writer', 'gone writer']);
  });

  test('takes pod stats if a pod has a limit of local storage', async () => {
    const { asked, stats } = nodeAlone();
    start(world.manager(HARD, {}, { stats }));
    world.pods = [makePod('limited', { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '10Mi' } }] })];
    const volume = [{ name: 'scratch', ...files(20 * MI) }];
    world.stats = world.pods.map((pod) => podStats(pod, { volume }));
    await world.clock.advance(15_000);
    expect(asked).toContain('pods');
    expect(world.log).toEqual(['kill limited', 'gone limited']);
  });
});

describe('eviction manager: low memory', () => {
  test('evicts the pod furthest above its request and reports the eviction in status, event, metric and log', async () => {
    threePods();
    const manager = start(world.manager(HARD));
    world.memory.available = 90 * MI;
    await world.clock.advance(15_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
    expect(world.kills[0]?.how.gracePeriodSeconds).toBe(1);
    const message =
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ' +
      'Container main was using 300Mi, request is 0, has larger consumption of memory. ';
    expect(world.statusAfter('big')).toEqual({
      phase: 'Failed',
      reason: 'Evicted',
      message,
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message }],
    });
    expect(events('big')).toMatchObject([
      {
        type: 'Warning',
        reason: 'Evicted',
        message,
        annotations: {
          offending_containers: 'main',
          offending_containers_usage: '300Mi',
          starved_resource: 'memory',
        },
      },
    ]);
    expect(world.events.eventsOf({ kind: 'Node', name: 'n1', uid: 'n1' })).toMatchObject([
      { type: 'Warning', reason: 'EvictionThresholdMet', message: 'Attempting to reclaim memory' },
    ]);
    expect(world.metrics.text()).toContain('kubelet_evictions{eviction_signal="memory.available"} 1');
    expect(world.metrics.text()).toContain(
      'kubelet_eviction_stats_age_seconds_count{eviction_signal="memory.available"} 1',
    );
    expect(manager.explainPod('uid-middle')).toMatchObject([
      { cause: 'memory.available<100Mi', outcome: 'evicted', evicted: 'uid-big', available: '90Mi' },
    ]);
    expect(manager.explain().decisions[0]?.ranked.map(({ name }) => name)).toEqual(['big', 'middle', 'small']);
  });

  test('N2: evicts the next pod only after the previously evicted pod is gone, and chooses by new stats', async () => {
    threePods();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.kill = async (pod) => {
      await promise;
      world.gone(pod);
      // Another pod immediately takes the freed memory.
      world.memory.available = 90 * MI;
      world.stats = world.stats.map((stats) =>
        stats.podRef.name === 'small' ? usingMemory(makePod('small'), 400 * MI) : stats,
      );
      world.kill = async (next) => world.gone(next);
    };
    start(world.manager(HARD));
    world.memory.available = 90 * MI;
    await world.clock.advance(20_000);
    expect(world.log).toEqual(['kill big']);
    resolve();
    await world.clock.advance(5_000);
    expect(world.log).toEqual(['kill big', 'gone big', 'kill small', 'gone small']);
  });

  test('N2: evicts no pod by stats from before the last eviction', async () => {
    threePods();
    let goneAtMs = 0;
    world.kill = async (pod) => {
      goneAtMs = world.clock.now();
      world.gone(pod);
    };
    start(world.manager(HARD));
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
    // For a minute, the stats describe the moment at which the evicted pod stopped.
    world.memory.available = 90 * MI;
    const old = world.truth(goneAtMs);
    world.summary = async () => old;
    await world.clock.advance(60_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
    world.summary = undefined;
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill big', 'gone big', 'kill middle', 'gone middle']);
  });

  test('N2: a newly started manager evicts no pod by stats from before its start', async () => {
    threePods();
    world.memory.available = 90 * MI;
    await world.clock.advance(60_000);
    const before = world.truth(world.clock.now() - 1000);
    world.summary = async () => before;
    start(world.manager(HARD));
    await world.clock.advance(30_000);
    expect(world.log).toEqual([]);
    world.summary = undefined;
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test('N2: skips critical and static pods and evicts the next candidate', async () => {
    const source = { annotations: { 'kubernetes.io/config.source': 'file' } };
    world.pods = [makePod('static', {}, source), makePod('critical', { priority: 2_000_000_000 }), makePod('plain')];
    world.stats = world.pods.map((pod, index) => usingMemory(pod, (300 - 100 * index) * MI));
    const manager = start(world.manager(HARD));
    world.memory.available = 1 * MI;
    await world.clock.advance(60_000);
    expect(world.log).toEqual(['kill plain', 'gone plain']);
    world.memory.available = 1 * MI;
    await world.clock.advance(60_000);
    expect(world.log).toEqual(['kill plain', 'gone plain']);
    expect(manager.explain().decisions.at(-1)).toMatchObject({
      outcome: 'noCandidate',
      ranked: [
        { name: 'static', passedOver: 'critical' },
        { name: 'critical', passedOver: 'critical' },
      ],
    });
  });

  test('evicts a pod that fails to stop only once, and evicts another pod after the wait', async () => {
    threePods();
    world.kill = async (pod) => {
      if (pod.metadata.name === 'big') throw new Error('timeout waiting to kill pod');
      world.gone(pod);
    };
    start(world.manager(HARD));
    world.memory.available = 1 * MI;
    await world.clock.advance(30_000);
    expect(world.log).toEqual(['kill big']);
    await world.clock.advance(15_000);
    expect(world.log).toEqual(['kill big', 'kill middle', 'gone middle']);
  });

  test('stops waiting for a kill that hangs', async () => {
    threePods();
    world.kill = (pod) => (pod.metadata.name === 'big' ? new Promise(() => {}) : Promise.resolve(world.gone(pod)));
    start(world.manager(HARD));
    world.memory.available = 1 * MI;
    await world.clock.advance(110_000);
    expect(world.log).toEqual(['kill big', 'kill middle', 'gone middle']);
  });
});

describe('eviction manager: soft thresholds', () => {
  const SOFT = {
    evictionSoft: { 'memory.available': '200Mi' },
    evictionSoftGracePeriodMs: { 'memory.available': 90_000 },
  };

  test("evicts for a soft threshold after its grace period, with the shorter one of the pod's and the maximum grace period", async () => {
    threePods();
    start(world.manager(SOFT, { maxPodGracePeriodSeconds: 20 }));
    world.memory.available = 150 * MI;
    await world.clock.advance(89_999);
    expect(world.log).toEqual([]);
    await world.clock.advance(1);
    expect(world.log).toEqual(['kill big', 'gone big']);
    expect(world.kills[0]?.how.gracePeriodSeconds).toBe(20);
  });

  test('restarts the grace period of a soft threshold after the signal recovered', async () => {
    threePods();
    start(world.manager(SOFT));
    world.memory.available = 150 * MI;
    await world.clock.advance(60_000);
    world.memory.available = 250 * MI;
    await world.clock.advance(10_000);
    world.memory.available = 150 * MI;
    await world.clock.advance(80_000);
    expect(world.log).toEqual([]);
    await world.clock.advance(20_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test.each([
    [0, 30, 1],
    [100, 30, 30],
    [-1, 30, 30],
    [10, 30, 10],
  ])(
    'with evictionMaxPodGracePeriod %d a pod with a grace period of %d s gets %d s',
    async (maxPodGracePeriodSeconds, own, expected) => {
      world.pods = [makePod('pod', { terminationGracePeriodSeconds: own })];
      world.memory.available = 150 * MI;
      start(world.manager(SOFT, { maxPodGracePeriodSeconds }));
      await world.clock.advance(110_000);
      expect(world.kills.map(({ how }) => how.gracePeriodSeconds)).toEqual([expected]);
    },
  );
});

test('evicts pods until the minimum reclaim is reached', async () => {
  threePods();
  start(world.manager({ ...HARD, evictionMinimumReclaim: { 'memory.available': '350Mi' } }));
  world.memory.available = 90 * MI;
  await world.clock.advance(20_000);
  // After the first eviction, 390 MiB are available: more than the threshold, but less than the threshold plus the
  // minimum reclaim.
  expect(world.log).toEqual(['kill big', 'gone big', 'kill middle', 'gone middle']);
});

describe('eviction manager: node conditions', () => {
  test('N3: a condition starts without a delay and ends one transition period after the pressure', async () => {
    const told: boolean[] = [];
    const manager: EvictionManager = world.manager(
      HARD,
      {},
      { onPressureChanged: () => told.push(manager.pressure().memory) },
    );
    start(manager);
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(manager.pressure()).toEqual({ memory: true, disk: false, pid: false });
    world.memory.available = 900 * MI;
    // The last round that observed the pressure was at 1 s.
    await world.clock.advance(290_000);
    expect(manager.pressure().memory).toBe(true);
    await world.clock.advance(11_000);
    expect(manager.pressure().memory).toBe(false);
    expect(told).toEqual([true, false]);
  });

  test('N3: pressure that comes and goes is reported as one continuous condition', async () => {
    const told: boolean[] = [];
    const manager: EvictionManager = world.manager(
      HARD,
      {},
      { onPressureChanged: () => told.push(manager.pressure().memory) },
    );
    start(manager);
    for (let round = 0; round < 20; round++) {
      world.memory.available = (round % 2 === 0 ? 90 : 900) * MI;
      await world.clock.advance(60_000);
    }
    expect(told).toEqual([true]);
  });

  test('node conditions decide which pods are admitted', async () => {
    const manager = start(world.manager(HARD));
    const bestEffort = makePod('best-effort');
    const burstable = makePod('burstable', asking({ memory: '1Mi' }));
    expect(manager.admit(bestEffort)).toEqual({ admit: true });
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(manager.admit(burstable)).toEqual({ admit: true });
    expect(manager.admit(bestEffort)).toEqual({
      admit: false,
      reason: 'Evicted',
      message: 'The node had condition: [MemoryPressure]. ',
    });
  });
});

describe('eviction manager: low disk space', () => {
  beforeEach(() => {
    world.pods = ['writer', 'quiet'].map((name) => makePod(name));
    world.stats = world.pods.map((pod, index) =>
      podStats(pod, { containers: [{ name: 'main', rootfs: files(50 * MI), logs: files((2 - index) * MI) }] }),
    );
    world.kill = async (pod) => {
      world.gone(pod);
      world.disk.available = 900 * MI;
    };
  });

  test('N2: removes dead containers and unused images first and evicts no pod if that frees enough', async () => {
    const manager = start(world.manager(DISK));
    world.onReclaim = (what) => {
      if (what === 'images') world.disk.available = 500 * MI;
    };
    world.disk.available = 90 * MI;
    await world.clock.advance(30_000);
    expect(world.log).toEqual(['containers', 'images']);
    expect(manager.pressure().disk).toBe(true);
    expect(manager.explain().decisions).toMatchObject([
      { cause: 'nodefs.available<10%', outcome: 'reclaimed', reclaims: ['containers', 'images'], available: '500Mi' },
    ]);
  });

  test('evicts the pod that uses most of the disk if the reclaim does not free enough', async () => {
    start(world.manager(DISK));
    world.disk.available = 90 * MI;
    await world.clock.advance(20_000);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'gone writer']);
    // 10 % as a 32-bit float is slightly more than a tenth.
    expect(world.statusAfter('writer').message).toBe(
      'The node was low on resource: ephemeral-storage. Threshold quantity: 104857601, available: 90Mi. ' +
        'Container main was using 52Mi, request is 0, has larger consumption of ephemeral-storage. ',
    );
  });

  describe('eviction manager: volumes under disk pressure', () => {
    const filler = makePod('filler', { volumes: [{ name: 'v', emptyDir: {} }] });
    const withVolume = (usedBytes: number) =>
      podStats(filler, { volume: [{ name: 'v', ...files(usedBytes) }], containers: [{ name: 'main' }] });
    beforeEach(() => {
      world.pods = [...world.pods, filler];
      world.stats = [...world.stats, withVolume(0)];
    });
    const measured = (): void => {
      world.log.push('measured');
      world.stats = world.stats.map((one) => (one.podRef.uid === filler.metadata.uid ? withVolume(400 * MI) : one));
    };

    test('N2: measures volumes before ranking pods by disk, so the pod that filled the disk since the last measurement is evicted', async () => {
      start(world.manager(DISK, {}, { diskUsage: { measure: async () => measured() } }));
      world.disk.available = 90 * MI;
      await world.clock.advance(20_000);
      expect(world.log).toContain('measured');
      expect(world.log.slice(-2)).toEqual(['kill filler', 'gone filler']);
    });

    test('measures volumes also if there is nothing to reclaim', async () => {
      world.layout = { dedicatedImageFs: true, splitContainerFs: false };
      start(world.manager(DISK, {}, { diskUsage: { measure: async () => measured() } }));
      world.disk.available = 90 * MI;
      await world.clock.advance(10_000);
      expect(world.log.slice(0, 3)).toEqual(['measured', 'kill filler', 'gone filler']);
    });

    test('does not measure volumes while only memory is short', async () => {
      start(
        world.manager(
          { evictionHard: { 'memory.available': '100Mi' } },
          {},
          { diskUsage: { measure: async () => measured() } },
        ),
      );
      world.memory.available = 50 * MI;
      await world.clock.advance(10_000);
      expect(world.log).not.toContain('measured');
      expect(world.kills.length).toBeGreaterThan(0);
    });

    test.each([
      ['fail', () => Promise.reject(new Error('away'))],
      ['hang', () => new Promise(() => undefined)],
    ])('evicts by the last known volume usage if volume measurements %s', async (_how, measure) => {
      start(world.manager(DISK, { statsTimeoutMs: 5_000 }, { diskUsage: { measure } }));
      world.disk.available = 90 * MI;
      await world.clock.advance(20_000);
      expect(world.log.slice(-2)).toEqual(['kill writer', 'gone writer']);
    });
  });

  test('evicts a pod even if the reclaim fails or hangs', async () => {
    const reclaim = {
      deleteUnusedContainers: async () => {
        throw new Error('the runtime is away');
      },
      deleteUnusedImages: () => new Promise(() => {}),
    };
    start(world.manager(DISK, { reclaimTimeoutMs: 5_000 }, { reclaim }));
    world.disk.available = 90 * MI;
    await world.clock.advance(30_000);
    expect(world.log).toEqual(['kill writer', 'gone writer']);
  });

  test('N2: evicts no pod while stats that include the reclaim are missing', async () => {
    const manager = start(world.manager(DISK));
    world.disk.available = 90 * MI;
    world.onReclaim = () => {
      world.summary = async () => {
        throw new Error('away');
      };
    };
    await world.clock.advance(60_000);
    expect(world.log).toEqual(['containers', 'images']);
    expect(manager.explain()).toMatchObject({ problem: 'no stats: away', decisions: [{ outcome: 'unknown' }] });
  });

  test('N2: waits for newer stats instead of evicting by stats from before the reclaim', async () => {
    const manager = start(world.manager(DISK));
    // The stats are taken every 15 s, independent of requests.
    let measured = world.truth();
    world.summary = async () => measured;
    await world.clock.advance(15_000);
    world.disk.available = 90 * MI;
    measured = world.truth();
    world.onReclaim = (what) => {
      if (what === 'images') world.disk.available = 500 * MI;
    };
    world.reclaimMs = 300;
    await world.clock.advance(12_000);
    expect(world.log).toEqual(['containers', 'images']);
    expect(manager.explain().decisions).toMatchObject([{ outcome: 'unknown' }]);
    measured = world.truth();
    await world.clock.advance(12_000);
    expect(world.log).toEqual(['containers', 'images']);
    expect(manager.pressure().disk).toBe(true);
  });

  test('N2: evicts by stats that include the reclaim, without another reclaim', async () => {
    start(world.manager(DISK));
    let measured = world.truth();
    world.summary = async () => measured;
    await world.clock.advance(15_000);
    world.disk.available = 90 * MI;
    measured = world.truth();
    world.reclaimMs = 300;
    await world.clock.advance(12_000);
    expect(world.log).toEqual(['containers', 'images']);
    measured = world.truth();
    await world.clock.advance(2000);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'gone writer']);
  });

  test('N3: stats after a reclaim prolong the condition', async () => {
    const manager = start(world.manager(DISK, { pressureTransitionMs: 20_000 }));
    world.pods = [];
    world.reclaimMs = 4_000;
    world.disk.available = 90 * MI;
    world.onReclaim = (what: string) => {
      if (what !== 'images' || world.summary !== undefined) return;
      world.reclaimMs = 0;
      // The disk is short in the first stats after the reclaim and no longer short after that.
      let left = 1;
      world.summary = async () => {
        if (left-- <= 0) world.disk.available = 500 * MI;
        return world.truth();
      };
    };
    // Pressure was observed at 0 s and at 8 s, after the reclaim, but not in the next round 2 s later.
    await world.clock.advance(25_000);
    expect(world.log).toEqual(['containers', 'images', 'containers', 'images']);
    expect(world.summaries).toBeGreaterThan(3);
    expect(manager.pressure().disk).toBe(true);
    await world.clock.advance(10_000);
    expect(manager.pressure().disk).toBe(false);
  });

  test('N3: sets a condition without a delay if the stats after a reclaim are the first to show the pressure', async () => {
    const told: object[] = [];
    const manager: EvictionManager = world.manager(
      { evictionHard: { ...DISK.evictionHard, ...HARD.evictionHard } },
      {},
      { onPressureChanged: () => told.push({ atMs: world.clock.now(), ...manager.pressure() }) },
    );
    world.disk.available = 90 * MI;
    let removedAtMs = -1;
    world.onReclaim = (what: string) => {
      if (what !== 'images' || removedAtMs >= 0) return;
      removedAtMs = world.clock.now();
      world.memory.available = 50 * MI;
    };
    start(manager);
    await world.clock.advance(10_000);
    expect(removedAtMs).toBeGreaterThanOrEqual(0);
    expect(told.slice(1)).toEqual([{ atMs: removedAtMs, memory: true, disk: true, pid: false }]);
  });

  test('N4: removes no images and evicts no pod for the disk until all pods are known', async () => {
    world.arePodsKnown = false;
    const manager = start(world.manager(DISK));
    world.disk.available = 90 * MI;
    await world.clock.advance(25_000);
    expect(new Set(world.log)).toEqual(new Set(['containers']));
    expect(manager.explain().decisions.at(-1)).toMatchObject({ outcome: 'waiting', reclaims: ['containers'] });
    expect(manager.pressure().disk).toBe(true);

    world.arePodsKnown = true;
    world.log.length = 0;
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'gone writer']);
  });

  test('evicts for memory while the image removal waits until all pods are known', async () => {
    world.arePodsKnown = false;
    start(world.manager({ evictionHard: { ...HARD.evictionHard, ...DISK.evictionHard } }));
    world.disk.available = 90 * MI;
    await world.clock.advance(5_000);
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(world.log).toContain('gone writer');
    expect(world.log).not.toContain('images');
  });

  test('removes no images for a full nodefs if images have their own disk', async () => {
    world.layout = { dedicatedImageFs: true, splitContainerFs: false };
    start(world.manager(DISK));
    world.disk.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(world.log.slice(0, 2)).toEqual(['kill writer', 'gone writer']);
  });

  test('takes no action for disks until the disk layout is known', async () => {
    let known = false;
    const layout = async () => {
      if (!known) throw new Error('not yet');
      return ONE_DISK;
    };
    const manager = start(world.manager(DISK, {}, { disks: { layout } }));
    world.disk.available = 90 * MI;
    await world.clock.advance(60_000);
    expect(world.log).toEqual([]);
    expect(manager.explain().problem).toBe('the disk layout is unknown: not yet');
    expect(manager.pressure()).toEqual({ memory: false, disk: false, pid: false });
    known = true;
    await world.clock.advance(20_000);
    expect(world.log.at(-1)).toBe('gone writer');
  });
});

test('evicts for memory while the disk layout is unknown', async () => {
  threePods();
  const layout = () => Promise.reject(new Error('not yet'));
  start(world.manager({ evictionHard: { ...HARD.evictionHard, ...DISK.evictionHard } }, {}, { disks: { layout } }));
  world.memory.available = 90 * MI;
  await world.clock.advance(10_000);
  expect(world.log).toEqual(['kill big', 'gone big']);
});

describe('N2: eviction while the disk layout is unknown', () => {
  const hang = () => {
    const answer = Promise.withResolvers<typeof ONE_DISK>();
    let asked = 0;
    const layout = (signal: AbortSignal) => {
      asked += 1;
      signal.addEventListener('abort', () => answer.reject(signal.reason));
      return answer.promise;
    };
    return { answer, disks: { layout }, asked: () => asked };
  };
  const BOTH = { evictionHard: { ...HARD.evictionHard, ...DISK.evictionHard } };

  test('N2: checks memory once per period, and evicts for it, while the disk layout query hangs', async () => {
    threePods();
    const { disks, asked } = hang();
    start(world.manager(BOTH, { statsTimeoutMs: 30_000 }, { disks }));
    await world.clock.advance(5000);
    expect(world.summaries).toBe(1);
    world.memory.available = 90 * MI;
    await world.clock.advance(5000);
    expect(world.log).toEqual(['kill big', 'gone big']);
    await world.clock.advance(19_000);
    expect(asked()).toBe(1);
  });

  test('N2: reads memory gauges while the disk layout query hangs', async () => {
    threePods();
    const gauge: Gauge = {
      ...{ signal: 'memory.available', perSecond: 1000 * MI },
      available: async () => world.memory.available,
    };
    start(world.manager(BOTH, { statsTimeoutMs: 30_000 }, { disks: hang().disks, gauges: [gauge] }));
    await world.clock.advance(2000);
    world.memory.available = 90 * MI;
    await world.clock.advance(2000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test('N2: stops waiting for a disk layout query that hangs, and repeats the query', async () => {
    let asked = 0;
    const layout = () => (++asked === 1 ? new Promise<never>(() => {}) : Promise.resolve(ONE_DISK));
    const manager = start(world.manager(DISK, { statsTimeoutMs: 15_000 }, { disks: { layout } }));
    world.disk.available = 90 * MI;
    await world.clock.advance(14_999);
    expect(manager.explain().problem).toBeUndefined();
    await world.clock.advance(1);
    expect(manager.explain().problem).toBe('the disk layout is unknown: timed out after 15000 ms');
    expect(asked).toBe(1);
    await world.clock.advance(5000);
    expect(asked).toBe(2);
    expect(manager.pressure().disk).toBe(true);
    expect(manager.explain().problem).toBeUndefined();
  });

  test('N2: starts the next round as soon as the disk layout is known', async () => {
    const { disks, answer, asked } = hang();
    world.disk.available = 90 * MI;
    const manager = start(world.manager(DISK, { statsTimeoutMs: 30_000 }, { disks }));
    await world.clock.advance(3000);
    answer.resolve(ONE_DISK);
    await world.clock.advance(0);
    expect(manager.pressure().disk).toBe(true);
    expect(world.log.slice(0, 2)).toEqual(['containers', 'images']);
    await world.clock.advance(30_000);
    expect(asked()).toBe(1);
  });
});

describe("eviction manager: working set above the machine's memory", () => {
  const MACHINE_BYTES = 1000 * MI;

  function startOn(node: object): EvictionManager {
    threePods();
    const summary = async () => {
      const truth = world.truth();
      return { ...truth, node: { ...truth.node, ...node } };
    };
    return start(world.manager(HARD, {}, { stats: { summary, machineMemoryBytes: () => MACHINE_BYTES } }));
  }

  test('N2: evicts no pod for an implausible working set of the node, and explain names it', async () => {
    const memory = { time: '2026-01-01T00:00:00Z', availableBytes: 0, workingSetBytes: 2 ** 50 };
    const manager = startOn({ memory });
    await world.clock.advance(120_000);
    expect(world.log).toEqual([]);
    expect(manager.pressure().memory).toBe(false);
    const problem = `memory.available: working set of ${2 ** 50} bytes exceeds the machine's ${MACHINE_BYTES} bytes`;
    expect(JSON.stringify(manager.explain())).toContain(problem);
  });

  test('N2: does not evict a pod first for an implausible working set of that pod', async () => {
    startOn({});
    const small = world.pods[2];
    if (small === undefined) throw new Error('there is no third pod');
    world.stats = [...world.stats.slice(0, 2), usingMemory(small, 2 ** 50)];
    await world.clock.advance(5000);
    world.memory.available = 90 * MI;
    await world.clock.advance(15_000);
    expect(world.log.slice(0, 1)).toEqual(['kill big']);
  });
});

describe('eviction manager: unreliable stats', () => {
  const lie = (on: World, summary: World['summary']): void => {
    on.summary = summary;
  };
  const lies: readonly (readonly [string, (world: World) => void])[] = [
    ['hang', (on) => lie(on, () => new Promise(() => {}))],
    ['fail', (on) => lie(on, () => Promise.reject(new Error('away')))],
    [
      'are negative',
      (on) => {
        on.memory.available = -5;
      },
    ],
    [
      'are NaN',
      (on) => {
        on.memory.available = Number.NaN;
      },
    ],
    [
      'have no time',
      (on) => lie(on, async () => ({ pods: [], node: { memory: { ...on.truth().node.memory, time: null } } })),
    ],
    [
      'are older than the previous stats',
      (on) => {
        const old = on.truth(on.clock.now() - 3_600_000);
        lie(on, async () => old);
      },
    ],
    ['lack the signal', (on) => lie(on, async () => ({ pods: [], node: {} }))],
  ];

  test.each(lies)('N2: evicts no pod while the stats %s', async (_title, begin) => {
    threePods();
    start(world.manager(HARD));
    await world.clock.advance(20_000);
    world.memory.available = 1 * MI;
    begin(world);
    await world.clock.advance(120_000);
    expect(world.log).toEqual([]);
    world.summary = undefined;
    world.memory.available = 1 * MI;
    await world.clock.advance(31_000);
    expect(world.log.slice(0, 2)).toEqual(['kill big', 'gone big']);
  });

  const noTime = 'no pod is evicted: the stats of memory.available have no time';
  test.each([
    ['no time', null, noTime],
    ['an invalid time', 'garbage', noTime],
    [
      'a time that never changes',
      '2020-01-01T00:00:00Z',
      'no pod is evicted: the stats of memory.available are not newer than the last action or the previous stats',
    ],
  ])('N2: explain reports that the stats have %s until the stats are valid again', async (_title, time, problem) => {
    world.memory.available = 1 * MI;
    world.summary = async () => ({ pods: [], node: { memory: { ...world.truth().node.memory, time } } });
    const manager = start(world.manager(HARD));
    await world.clock.advance(5_000);
    expect(manager.explain()).toMatchObject({ problem, decisions: [] });
    world.summary = undefined;
    world.memory.available = 900 * MI;
    await world.clock.advance(10_000);
    expect(manager.explain().problem).toBeUndefined();
  });

  test('evicts pods after the wall clock was set back an hour', async () => {
    threePods();
    start(world.manager(HARD));
    await world.clock.advance(20_000);
    world.clock.jumpWallClock(-3_600_000);
    world.memory.available = 1 * MI;
    await world.clock.advance(20_000);
    expect(world.log.slice(0, 2)).toEqual(['kill big', 'gone big']);
  });
});

describe('eviction manager: local storage limits', () => {
  test('evicts each pod over its local storage limit on a node without pressure, without a DisruptionTarget condition', async () => {
    const volumes = [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }];
    world.pods = [makePod('over', { volumes }), makePod('too', { volumes }), makePod('under', { volumes })];
    world.stats = world.pods.map((pod, index) =>
      podStats(pod, { volume: [{ name: 'cache', ...files((12 - index) * MI - 1) }] }),
    );
    const manager = start(world.manager({}));
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill over', 'gone over', 'kill too', 'gone too']);
    expect(world.statusAfter('over')).toEqual({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "cache" exceeds the limit "10Mi". ',
    });
    expect(world.metrics.text()).toContain('kubelet_evictions{eviction_signal="emptydirfs.limit"} 2');
    expect(manager.explainPod('uid-over')).toMatchObject([{ cause: 'emptydirfs.limit', evicted: 'uid-over' }]);
  });

  test('evicts several pods over their local storage limits in one round without waiting for their volumes to be removed', async () => {
    const volumes = [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }];
    world.pods = ['a', 'b', 'c'].map((name) => makePod(name, { volumes }));
    world.stats = world.pods.map((pod) => podStats(pod, { volume: [{ name: 'cache', ...files(11 * MI) }] }));
    // The volumes of the pods are never released.
    world.kill = async () => {};
    start(world.manager(HARD));
    await world.clock.advance(15_000);
    expect(world.log).toEqual(['kill a', 'kill b', 'kill c']);
    const hog = makePod('hog');
    world.pods = [...world.pods, hog];
    world.stats = [...world.stats, usingMemory(hog, 300 * MI)];
    world.memory.available = 90 * MI;
    await world.clock.advance(30_000);
    expect(world.log).toEqual(['kill a', 'kill b', 'kill c', 'kill hog']);
  });

  test('N2: does not evict for a local storage limit by stats that are older than the previous stats', async () => {
    const volumes = [{ name: 'cache', emptyDir: { sizeLimit: '1Mi' } }];
    world.pods = [makePod('over', { volumes })];
    start(world.manager({}));
    await world.clock.advance(20_000);
    const over = world.pods.map((pod) => podStats(pod, { volume: [{ name: 'cache', ...files(2 * MI) }] }));
    const old = { ...world.truth(world.clock.now() - 60_000), pods: over };
    world.summary = async () => old;
    await world.clock.advance(60_000);
    expect(world.log).toEqual([]);
    world.summary = async () => ({ ...world.truth(), pods: over });
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill over', 'gone over']);
  });

  test('does not enforce local storage limits if local storage capacity isolation is off', async () => {
    world.pods = [makePod('over', { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '1Mi' } }] })];
    world.stats = world.pods.map((pod) => podStats(pod, { volume: [{ name: 'cache', ...files(2 * MI) }] }));
    start(world.manager(HARD, { localStorageCapacityIsolation: false }));
    await world.clock.advance(30_000);
    expect(world.log).toEqual([]);
  });
});

test('observes the stats age metric for every signal with pressure, not only for the signal of the eviction', async () => {
  threePods();
  world.disk.available = 50 * MI;
  start(
    world.manager({ evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%', 'pid.available': '5' } }),
  );
  await world.clock.advance(11_000);
  expect(world.log.slice(0, 3)).toEqual(['containers', 'images', 'kill big']);
  const text = world.metrics.text();
  for (const signal of ['nodefs.available', 'imagefs.available', 'containerfs.available']) {
    expect(text).toMatch(
      new RegExp(`^kubelet_eviction_stats_age_seconds_count{eviction_signal="${signal}"} [1-9]`, 'm'),
    );
  }
  expect(text).not.toContain('pid.available');
});

describe('eviction manager: gauges', () => {
  const gauge = (perSecond = 1000 * MI): Gauge => ({
    signal: 'memory.available',
    perSecond,
    // The gauge exceeds the available memory by a constant amount.
    available: async () => world.memory.available + 7 * MI,
  });

  test('a gauge that detects a crossing while stats are missing requests stats only once per second', async () => {
    let reads = 0;
    const available = async (): Promise<number> => {
      reads += 1;
      // After a thousand reads the gauge hangs, so that an endless loop fails instead of blocking the test.
      if (reads > 1000) await new Promise(() => {});
      return world.memory.available;
    };
    start(world.manager(HARD, {}, { gauges: [{ ...gauge(), available }] }));
    await world.clock.advance(1000);
    world.memory.available = 150 * MI;
    await world.clock.advance(10_000);
    world.memory.available = 50 * MI;
    let asked = 0;
    world.summary = () => {
      asked += 1;
      return Promise.reject(new Error('away'));
    };
    await world.clock.advance(5000);
    expect(asked).toBeGreaterThan(2);
    expect(asked).toBeLessThan(8);
  });

  test('a gauge detects within a tenth of a second that a threshold was crossed', async () => {
    threePods();
    start(world.manager(HARD, {}, { gauges: [gauge()] }));
    await world.clock.advance(20_000);
    world.memory.available = 150 * MI;
    await world.clock.advance(900);
    expect(world.log).toEqual([]);
    world.memory.available = 90 * MI;
    await world.clock.advance(100);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test('a gauge that disagrees with the stats does not start a round at each reading', async () => {
    start(world.manager(HARD, {}, { gauges: [gauge()] }));
    await world.clock.advance(10_000);
    const truth = world.truth();
    world.summary = async () => ({ ...truth, node: world.truth().node });
    const before = world.summaries;
    await world.clock.advance(60_000);
    expect(world.summaries - before).toBe(6);
  });

  test('evicts by stats alone if a gauge cannot be read', async () => {
    threePods();
    const broken: Gauge = { ...gauge(), available: () => Promise.reject(new Error('no such file')) };
    start(world.manager(HARD, {}, { gauges: [broken] }));
    world.memory.available = 90 * MI;
    await world.clock.advance(10_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test.each([
    [1000, 100, 10_000, 10_000],
    [1000, 1000, 10_000, 1000],
    [10, 1000, 10_000, 100],
    [0, 1000, 10_000, 100],
  ])(
    'nextGaugeReadMs with %d left, a decrease of at most %d per second and a maximum of %d ms is %d',
    (left, perSecond, maxMs, expected) => {
      expect(nextGaugeReadMs(left, perSecond, { minMs: 100, maxMs })).toBe(expected);
    },
  );
});

test('takes no stats while there are no thresholds and no local storage limits', async () => {
  const manager = start(world.manager({}, { localStorageCapacityIsolation: false }));
  await world.clock.advance(60_000);
  expect(world.summaries).toBe(0);
  world.memory.available = 90 * MI;
  world.pods = [makePod('big')];
  world.stats = world.pods.map((pod) => usingMemory(pod, 300 * MI));
  manager.update({ thresholds: parseThresholds(HARD) });
  await world.clock.advance(20_000);
  expect(world.log).toEqual(['kill big', 'gone big']);
});

describe('eviction manager: new thresholds while it runs', () => {
  test('evicts for a raised threshold, and not for a removed one', async () => {
    threePods();
    const manager = start(world.manager(HARD));
    world.memory.available = 150 * MI;
    await world.clock.advance(30_000);
    expect(world.log).toEqual([]);
    manager.update({ thresholds: parseThresholds({ evictionHard: { 'memory.available': '200Mi' } }) });
    await world.clock.advance(20_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
    manager.update({ thresholds: [] });
    world.memory.available = 10 * MI;
    await world.clock.advance(60_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });

  test('evicts for a threshold of the disk that was added after the disk layout became known', async () => {
    threePods();
    const manager = start(world.manager(HARD));
    await world.clock.advance(30_000);
    world.disk.available = 50 * MI;
    manager.update({ thresholds: parseThresholds(DISK) });
    await world.clock.advance(20_000);
    expect(manager.pressure()).toEqual({ memory: false, disk: true, pid: false });
  });

  test('keeps the grace period of a soft threshold that stays the same, and restarts the one of a changed threshold', async () => {
    const soft = (graceMs: number) =>
      parseThresholds({
        evictionSoft: { 'memory.available': '200Mi' },
        evictionSoftGracePeriodMs: { 'memory.available': graceMs },
      });
    const evictedAfterMs = async (nextGraceMs: number): Promise<number> => {
      world = new World();
      threePods();
      const manager = start(world.manager({}, { thresholds: soft(60_000) }));
      world.memory.available = 150 * MI;
      await world.clock.advance(40_000);
      manager.update({ thresholds: soft(nextGraceMs) });
      const fromMs = world.clock.monotonic();
      while (world.log.length === 0) await world.clock.advance(5_000);
      return world.clock.monotonic() - fromMs;
    };
    expect(await evictedAfterMs(60_000)).toBeLessThan(40_000);
    expect(await evictedAfterMs(61_000)).toBeGreaterThanOrEqual(60_000);
  });

  test('applies a new maximum grace period and a new transition period', async () => {
    threePods();
    const manager = start(world.manager(HARD, { pressureTransitionMs: 300_000 }));
    world.memory.available = 50 * MI;
    await world.clock.advance(20_000);
    manager.update({ thresholds: parseThresholds(HARD), pressureTransitionMs: 1_000 });
    world.memory.available = 900 * MI;
    await world.clock.advance(20_000);
    expect(manager.pressure().memory).toBe(false);
  });

  test('keeps the old thresholds and limits if a new option is invalid', async () => {
    threePods();
    const manager = start(world.manager(HARD));
    expect(() => manager.update({ thresholds: [], pressureTransitionMs: -1 })).toThrow('must not be negative');
    world.memory.available = 50 * MI;
    await world.clock.advance(20_000);
    expect(world.log).toEqual(['kill big', 'gone big']);
  });
});

test('rejects an invalid eviction option with an error that names the option', () => {
  expect(() => world.manager({}, { monitoringPeriodMs: Number.NaN })).toThrow(
    'monitoringPeriodMs NaN must not be negative',
  );
  for (const [option, words] of [
    [{ monitoringPeriodMs: null }, 'monitoringPeriodMs must be a number, not null'],
    [{ monitoringPeriodMs: '5' }, 'monitoringPeriodMs must be a number, not "5"'],
    [{ statsTimeoutMs: null }, 'statsTimeoutMs must be a number, not null'],
    [{ maxPodGracePeriodSeconds: null }, 'maxPodGracePeriodSeconds must be a number, not null'],
    [{ maxPodGracePeriodSeconds: Number.NaN }, 'maxPodGracePeriodSeconds must be a number, not NaN'],
    [{ localStorageCapacityIsolation: 1 }, 'localStorageCapacityIsolation must be true or false, not 1'],
    [{ thresholds: undefined }, 'thresholds is missing'],
  ] as const) {
    expect(() => world.manager({}, option as never)).toThrow(words);
  }
  expect(() => world.manager({}, { monitoringPeriodMs: 0 })).toThrow('monitoringPeriodMs 0 must be above 0');
  expect(() => world.manager({}, { pressureTransitionMs: -1 })).toThrow('pressureTransitionMs -1 must not be negative');
});

describe('eviction manager: ports that throw', () => {
  const boom = (): never => {
    throw new Error('boom');
  };

  test('continues after the event recorder and the pressure listener throw', async () => {
    threePods();
    const recorder = { event: boom };
    const manager = start(world.manager(HARD, {}, { recorder, onPressureChanged: boom }));
    await world.clock.advance(20_000);
    world.memory.available = 1 * MI;
    await world.clock.advance(20_000);
    expect(world.log.slice(0, 2)).toEqual(['kill big', 'gone big']);
    expect(manager.explain().problem).toBeUndefined();
  });

  test.each(['active', 'isCritical', 'areKnown', 'isGone'])(
    'N2: an exception of pods.%s fails the round and is logged',
    async (port) => {
      threePods();
      let isBroken = true;
      const errors: string[] = [];
      const logger = { ...silentLogger, error: (_fields: object, message: string) => void errors.push(message) };
      const manager = start(
        world.manager(
          HARD,
          {},
          {
            logger,
            pods: new Proxy(world.podsPort(), {
              get: (pods, name, self) => (isBroken && name === port ? boom : Reflect.get(pods, name, self)),
            }),
          },
        ),
      );
      await world.clock.advance(20_000);
      world.memory.available = 1 * MI;
      await world.clock.advance(20_000);
      expect(manager.explain().problem).toBe('eviction round failed: boom');
      expect(errors).toEqual(['Eviction manager: round failed, retrying soon']);
      isBroken = false;
      await world.clock.advance(40_000);
      expect(world.killed()).toContain('big');
      expect(manager.explain().problem).toBeUndefined();
    },
  );

  test('repeats the disk layout query after an invalid result, and evicts for memory in the meantime', async () => {
    threePods();
    world.layout = null as never;
    const manager = start(world.manager({ evictionHard: { ...HARD.evictionHard, ...DISK.evictionHard } }));
    await world.clock.advance(20_000);
    world.memory.available = 1 * MI;
    await world.clock.advance(20_000);
    expect(world.killed()).toContain('big');
    expect(manager.explain().problem).toBe('the disk layout is unknown: the answer is null');
    world.layout = ONE_DISK;
    await world.clock.advance(20_000);
    expect(manager.explain().problem).toBeUndefined();
  });
});
