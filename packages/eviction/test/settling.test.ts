import { Quantity } from '@node-agent/pod-spec';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { maySettle } from '../src/settling.ts';
import { files, MI, makePod, podStats, World } from './world.ts';

const SECOND = 1000;
const DISK = { evictionHard: { 'nodefs.available': '10%' } };

describe('maySettle', () => {
  const left = (mebibytes: number, atMs: number | undefined) => ({
    ...{ available: Quantity.of(mebibytes * MI), capacity: Quantity.of(1000 * MI), atMs },
  });

  test.each([
    ['the available space is unchanged', left(90, 0), left(90, 1000), true],
    ['the available space increased', left(90, 0), left(95, 1000), true],
    ['the available space lasts for more than half a minute', left(93, 0), left(90.5, 1000), true],
    ['the available space lasts for exactly half a minute', left(93, 0), left(90, 1000), false],
    ['the available space lasts for a millisecond more than half a minute', left(30_002, 0), left(30_001, 1), true],
    ['all available space was used up in a millisecond', left(90, 0), left(0, 1), false],
    ['the available space lasts for a second', left(90, 0), left(45, 1000), false],
    ['the available space lasts for ten times as long as half a minute', left(93, 0), left(90, 10_000), true],
    ['no space is left', left(1, 0), left(0, 1000), false],
    ['no space is left, after a single byte was left', left(1 / MI, 0), left(0, 1000), false],
    ['no space is left, and none was left before', left(0, 0), left(0, 1000), true],
    ['both observations have the same time', left(90, 1000), left(45, 1000), true],
    ['neither observation has a time', left(90, undefined), left(45, undefined), true],
    ['the earlier observation has no time', left(90, undefined), left(45, 1), true],
    ['the later observation has no time', left(90, 0), left(45, undefined), true],
  ])('maySettle returns $3 if %s', (_what, before, now, may) => {
    expect(maySettle(before, now)).toBe(may);
  });
});

describe('N2: disk space becomes free some time after a reclaim or an eviction', () => {
  let world: World;
  let stop: () => Promise<void>;

  beforeEach(() => {
    world = new World();
    world.pods = ['writer', 'other'].map((name) => makePod(name));
    world.stats = world.pods.map((pod) => {
      const rootfs = files((pod.metadata.name === 'writer' ? 300 : 10) * MI);
      return podStats(pod, { containers: [{ name: 'main', rootfs }] });
    });
    stop = world.run(world.manager(DISK));
  });

  afterEach(() => stop());

  /** Makes the disk short of space; a round detects this in its first second. */
  const short = async (): Promise<void> => {
    await world.clock.advance(9 * SECOND);
    world.disk.available = 90 * MI;
    await world.clock.advance(1 * SECOND);
  };

  test('N2: evicts no pod if the space of removed dead containers becomes free later', async () => {
    world.deadContainers = 1;
    await short();
    expect(world.log).toEqual(['containers', 'images']);
    await world.clock.advance(3 * SECOND);
    world.disk.available = 900 * MI;
    await world.clock.advance(60 * SECOND);
    expect(world.log).toEqual(['containers', 'images']);
  });

  test('N2: evicts no second pod if the space of the first evicted pod becomes free later', async () => {
    await short();
    expect(world.killed()).toEqual(['writer']);
    await world.clock.advance(9 * SECOND);
    expect(world.killed()).toEqual(['writer']);
    world.disk.available = 900 * MI;
    await world.clock.advance(60 * SECOND);
    expect(world.killed()).toEqual(['writer']);
  });

  test('N2: waits ten seconds for disk space, then repeats the reclaim before it evicts another pod', async () => {
    await short();
    world.log.length = 0;
    await world.clock.advance(1 * SECOND);
    expect(world.log).toEqual(['containers', 'images']);
    await world.clock.advance(10 * SECOND - 1);
    expect(world.log).toEqual(['containers', 'images']);
    await world.clock.advance(1);
    expect(world.log).toEqual(['containers', 'images', 'containers', 'images', 'kill other', 'gone other']);
  });

  test('N2: does not wait for disk space while the disk continues to fill', async () => {
    await short();
    await world.clock.advance(1 * SECOND);
    expect(world.killed()).toEqual(['writer']);
    world.disk.available = 60 * MI;
    await world.clock.advance(1 * SECOND);
    expect(world.killed()).toEqual(['writer', 'other']);
  });

  test('N2: waits for disk space once, so dead containers that keep appearing do not prevent evictions', async () => {
    world.deadContainers = 1;
    await short();
    await world.clock.advance(11 * SECOND);
    expect(world.killed()).toEqual(['writer']);
  });

  test('N2: waits for disk space again the next time the disk is short', async () => {
    world.deadContainers = 1;
    await short();
    world.disk.available = 900 * MI;
    await world.clock.advance(60 * SECOND);
    world.disk.available = 90 * MI;
    await world.clock.advance(15 * SECOND);
    expect(world.killed()).toEqual([]);
  });
});
