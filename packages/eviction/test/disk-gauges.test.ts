import { sleep } from '@node-agent/async';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { type DiskPaths, diskGauges, type Gauge, plannedGaugeReadMs } from '../src/index.ts';
import { MI, makePod, podStats, World } from './world.ts';

const GI = 1024 * MI;
const LIMITS = { minMs: 100, maxMs: 10_000 };
const DISK = { perSecond: 2 * GI, quietMs: 1000 };

describe('plannedGaugeReadMs', () => {
  test.each([
    // Far above the threshold, the next reading is in 10 s, however fast the space decreases.
    [500 * GI, 0, 10_000],
    [500 * GI, GI, 10_000],
    // Near the threshold, the next reading is planned by the maximum fill rate while the space does not decrease.
    [10 * GI, 0, 5000],
    [1 * GI, 0, 1000],
    [0, 0, 1000],
    [1 * GI, -GI, 1000],
    // The available space decreases: read again when half of the rest is used.
    [1 * GI, GI, 500],
    [100 * MI, 200 * MI, 250],
    [MI, GI, 100],
    // The space decreases slower than the disk could write.
    [1 * GI, 10 * MI, 1000],
  ])(
    'plannedGaugeReadMs plans the next reading with %d bytes above the threshold and a decrease of %d bytes per second: in %d ms',
    (left, seen, expected) => {
      expect(plannedGaugeReadMs(left, DISK, seen, LIMITS)).toBe(expected);
    },
  );

  test('plannedGaugeReadMs stays within its limits and is shorter for a faster decrease', () => {
    const amount = fc.double({ min: 0, max: 1e13, noNaN: true });
    fc.assert(
      fc.property(amount, amount, amount, (left, seen, more) => {
        const slow = plannedGaugeReadMs(left, DISK, seen, LIMITS);
        const fast = plannedGaugeReadMs(left, DISK, seen + more, LIMITS);
        expect(slow).toBeGreaterThanOrEqual(LIMITS.minMs);
        expect(slow).toBeLessThanOrEqual(LIMITS.maxMs);
        expect(fast).toBeLessThanOrEqual(slow);
      }),
    );
  });

  test('plannedGaugeReadMs detects a crossing within a second at any speed up to the bound, and within a tenth at a steady speed', () => {
    const speed = fc.double({ min: 10 * MI, max: DISK.perSecond, noNaN: true });
    const headroom = fc.double({ min: 0, max: 100 * GI, noNaN: true });
    fc.assert(
      fc.property(speed, headroom, (perSecond, all) => {
        let atMs = 0;
        let seen = 0;
        let looks = 0;
        while (atMs * perSecond < all * 1000) {
          atMs += plannedGaugeReadMs(all - (atMs / 1000) * perSecond, DISK, seen, LIMITS);
          seen = perSecond;
          looks += 1;
        }
        const lateMs = atMs - (all / perSecond) * 1000;
        expect(lateMs).toBeLessThanOrEqual(looks > 1 ? 100.001 : 1000.001);
      }),
    );
  });
});

describe('disk gauges', () => {
  const PLACES: DiskPaths = { nodefs: '/var/lib/kubelet', imagefs: '/images', containerfs: '/images' };
  const HARD = { evictionHard: { 'nodefs.available': '10%', 'imagefs.available': '15%' } };
  let world: World;
  let asked: string[];
  let statfs: (path: string) => Promise<{ availableBytes: number; freeInodes: number }>;
  const gauges = (): readonly Gauge[] => diskGauges({ statfs: (path) => statfs(path) }, () => PLACES);
  const start = (more: readonly Gauge[] = []): void => {
    void world.manager(HARD, {}, { gauges: [...more, ...gauges()] }).start(new AbortController().signal);
  };
  const write = (bytes: number): void => {
    world.disk.available -= bytes;
  };

  beforeEach(() => {
    world = new World();
    Object.assign(world.disk, { available: 900 * GI, capacity: 1000 * GI });
    world.pods = [makePod('writer')];
    world.stats = world.pods.map((pod) => podStats(pod));
    asked = [];
    statfs = async (path) => {
      asked.push(path);
      return { availableBytes: world.disk.available, freeInodes: 900 };
    };
  });

  test('reads each disk once per round while the disks are far from their thresholds', async () => {
    start();
    await world.clock.advance(60_000);
    // At the start, the manager reads one more summary before the disk layout is known.
    const rounds = world.summaries - 1;
    expect(rounds).toBe(7);
    // Each round reads two disks, because each of the two thresholds belongs to another disk.
    expect(asked).toHaveLength(2 * rounds);
    expect(new Set(asked)).toEqual(new Set([PLACES.nodefs, PLACES.imagefs]));
  });

  test('reads a disk once per second while it is near a threshold and nothing is written', async () => {
    world.disk.available = 150 * GI + MI;
    start();
    await world.clock.advance(10_000);
    asked = [];
    await world.clock.advance(60_000);
    // The threshold of the image disk is near; the threshold of the node disk is 50 GiB away.
    expect(asked.filter((path) => path === PLACES.imagefs).length).toBeLessThanOrEqual(61 + 6);
    expect(asked.filter((path) => path === PLACES.nodefs).length).toBeLessThanOrEqual(7);
  });

  test('detects within a tenth of a second that a disk that fills has crossed its threshold', async () => {
    world.disk.available = 160 * GI;
    start();
    await world.clock.advance(12_340);
    // Writes 500 MiB per second, for the 20 s until imagefs is short.
    let tenths = 0;
    while (world.disk.available >= 150 * GI) {
      write(50 * MI);
      tenths += 1;
      expect(world.log).toEqual([]);
      await world.clock.advance(100);
    }
    expect(tenths).toBe(205);
    await world.clock.advance(100);
    expect(world.log).toEqual(['containers', 'images', 'kill writer', 'gone writer']);
  });

  test('disk gauges that hang delay neither memory gauges nor the rounds', async () => {
    world.pods = [makePod('hog')];
    world.stats = world.pods.map((pod) => podStats(pod, { memory: { time: null, workingSetBytes: 500 * MI } }));
    statfs = () => new Promise(() => {});
    const memory: Gauge = {
      ...{ signal: 'memory.available', perSecond: 1000 * MI },
      available: async () => world.memory.available,
    };
    const hard = { evictionHard: { ...HARD.evictionHard, 'memory.available': '100Mi' } };
    void world.manager(hard, {}, { gauges: [memory, ...gauges()] }).start(new AbortController().signal);
    await world.clock.advance(15_000);
    expect(world.summaries).toBe(3);
    world.memory.available = 90 * MI;
    // 1.8 s include the rest of the interval between two checks, and the second that the disks have to respond.
    await world.clock.advance(1800);
    expect(world.log).toEqual(['kill hog', 'gone hog']);
  });

  test('does not read disk gauges before the disk layout is known', async () => {
    const places = (): DiskPaths => {
      throw new Error('asked too early');
    };
    const layout = async () => {
      await sleep(world.clock, 1000);
      throw new Error('no runtime');
    };
    const manager = world.manager(HARD, {}, { gauges: diskGauges({ statfs }, places), disks: { layout } });
    void manager.start(new AbortController().signal);
    await world.clock.advance(30_000);
    expect(asked).toEqual([]);
  });
});
