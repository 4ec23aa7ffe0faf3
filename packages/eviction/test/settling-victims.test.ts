import { sleep } from '@node-agent/async';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EvictionSummary } from '../src/index.ts';
import { asking, files, MI, makePod, podStats, World } from './world.ts';

const SECOND = 1000;
const DISK = { evictionHard: { 'nodefs.available': '10%' } };

describe('N2: wait until the disk space of an evicted pod is free', () => {
  let world: World;
  let stop: () => Promise<void>;

  const begin = (limits: Record<string, string> = {}): void => {
    world.pods = [makePod('writer', asking({}, limits)), makePod('other')];
    stop = world.run(world.manager(DISK));
  };

  beforeEach(() => {
    world = new World();
  });

  afterEach(() => stop());

  /** Makes the disk short of space; a round detects this in its first second. */
  const short = async (): Promise<void> => {
    await world.clock.advance(9 * SECOND);
    world.disk.available = 90 * MI;
    world.stats = world.pods.map((pod) => {
      const of = files((pod.metadata.name === 'writer' ? 300 : 10) * MI);
      return podStats(pod, { 'ephemeral-storage': of, containers: [{ name: 'main', rootfs: of }] });
    });
    await world.clock.advance(1 * SECOND);
  };

  test("N2: waits for an evicted pod's disk space even if the pod wrote more while it stopped", async () => {
    begin();
    world.kill = async (pod) => {
      await sleep(world.clock, 1 * SECOND);
      world.disk.available -= 50 * MI;
      world.gone(pod);
    };
    await short();
    await world.clock.advance(4 * SECOND);
    expect(world.killed()).toEqual(['writer']);
    world.disk.available = 900 * MI;
    await world.clock.advance(60 * SECOND);
    expect(world.killed()).toEqual(['writer']);
  });

  test("N2: waits for an evicted pod's disk space if the pod was evicted for its own local storage limit", async () => {
    begin({ 'ephemeral-storage': '200Mi' });
    await short();
    expect(world.killed()).toEqual(['writer']);
    await world.clock.advance(3 * SECOND);
    expect(world.killed()).toEqual(['writer']);
    world.disk.available = 900 * MI;
    await world.clock.advance(60 * SECOND);
    expect(world.killed()).toEqual(['writer']);
  });

  test("N2: waits for an evicted pod's disk space if stats are missing in between", async () => {
    begin();
    await short();
    await world.clock.advance(1 * SECOND);
    world.summary = async (): Promise<EvictionSummary> => {
      const { node, pods } = world.truth();
      const { fs: _fs, runtime: _runtime, ...rest } = node;
      return { node: rest, pods };
    };
    await world.clock.advance(1 * SECOND);
    world.summary = undefined;
    await world.clock.advance(8 * SECOND + 500);
    expect(world.killed()).toEqual(['writer']);
  });

  test("N2: waits for an evicted pod's disk space even if the removal of dead containers fails", async () => {
    begin();
    world.onReclaim = (what) => {
      if (what === 'containers') throw new Error('sandboxes could not be listed');
    };
    await short();
    await world.clock.advance(9 * SECOND);
    expect(world.killed()).toEqual([]);
    await world.clock.advance(2 * SECOND);
    expect(world.killed()).toEqual(['writer']);
  });

  test("N2: takes new disk stats after the wait for an evicted pod's disk space, however long the reclaim took", async () => {
    begin();
    world.deadContainers = 1;
    world.reclaimMs = 6 * SECOND;
    await short();
    await world.clock.advance(13 * SECOND);
    world.log.length = 0;
    await world.clock.advance(30 * SECOND);
    expect(world.log.slice(0, 3)).toEqual(['containers', 'images', 'kill writer']);
  });
});
