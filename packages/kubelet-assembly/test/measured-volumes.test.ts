import { FakeClock } from '@node-agent/async/testing';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import type { VolumeUsage } from '@node-agent/volumes';
import { describe, expect, it } from 'vitest';
import { MeasuredVolumes } from '../src/measured-volumes.ts';

const podOf = (uid: string): Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: uid, namespace: 'default', uid } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
});
const { signal } = new AbortController();
const fileSystem = { totalBytes: 100, freeBytes: 60, availableBytes: 50, inodes: 10, freeInodes: 4 };
const usageOf = (usedBytes: number, measuredAtMs: number): VolumeUsage => ({
  ...{ name: 'v', medium: 'disk', usedBytes, inodesUsed: 2, complete: true, fileSystem, measuredAtMs },
});

function started(
  measure: (uid: string) => Promise<readonly VolumeUsage[]>,
  periodMs = 60_000,
  logger: Logger = silentLogger,
) {
  const clock = new FakeClock();
  const pods = new Map([['a', podOf('a')]]);
  const asked: string[] = [];
  const ending = new AbortController();
  const measured = new MeasuredVolumes(
    {
      ...{ clock, logger, pods: () => [...pods.values()] },
      volumes: {
        volumeUsage: async ({ metadata: { uid } }) => {
          asked.push(uid);
          return await measure(uid);
        },
      },
    },
    { periodMs },
  );
  const ended = measured.start(ending.signal);
  const end = (): Promise<void> => {
    ending.abort();
    return ended;
  };
  return { clock, pods, asked, measured, end };
}

describe('volume usage', () => {
  it('volume usage of a PersistentVolumeClaim names the claim and does not count as ephemeral storage', async () => {
    const claim = { namespace: 'default', name: 'c' };
    const { clock, measured, end } = started(async () => [{ ...usageOf(1, 5), medium: 'persistent', claim }]);
    await clock.advance(0);
    expect(measured.of({ uid: 'a' })).toMatchObject([{ name: 'v', usedBytes: 1, isLocalEphemeral: false, claim }]);
    await end();
  });

  it.each([true, false])(
    'shows in the volume usage whether the CSI driver reports the volume as abnormal (%s)',
    async (abnormal) => {
      const { clock, measured, end } = started(async () => [{ ...usageOf(1, 5), abnormal }]);
      await clock.advance(0);
      expect(measured.of({ uid: 'a' })).toMatchObject([{ abnormal }]);
      await end();
    },
  );

  it('volume usage is measured again on request, by measurements that start after the request', async () => {
    const going = Promise.withResolvers<void>();
    let used = 1;
    const { clock, asked, measured, end } = started(async () => {
      const usage = usageOf(used, 5);
      if (asked.length === 1) await going.promise;
      return [usage];
    });
    await clock.advance(0);
    used = 2;
    const measuring = Promise.all([measured.measure(signal), measured.measure(signal)]);
    expect(asked).toEqual(['a']);
    going.resolve();
    await measuring;
    // Both requests wait for the same second measurement.
    expect(asked).toEqual(['a', 'a']);
    expect(measured.of({ uid: 'a' })[0]?.usedBytes).toBe(2);
    await end();
  });

  it('volume usage is not measured without pods, and is retried after an error', async () => {
    const off = started(async () => [usageOf(1, 5)], 0);
    await off.measured.measure(signal);
    expect(off.asked).toEqual([]);
    let fails = true;
    const { measured, end } = started(() => {
      if (fails) throw new Error('no');
      return Promise.resolve([usageOf(3, 5)]);
    });
    await measured.measure(signal);
    fails = false;
    await measured.measure(signal);
    expect(measured.of({ uid: 'a' })[0]?.usedBytes).toBe(3);
    await end();
  });

  it('volume usage is measured every period, and the last result is returned', async () => {
    let used = 1;
    const { clock, asked, measured, end } = started(async () => [usageOf(used, 5)]);
    expect(measured.of({ uid: 'a' })).toEqual([]);
    await clock.advance(0);
    expect(measured.of({ uid: 'a' })).toEqual([
      {
        ...{ name: 'v', usedBytes: 1, inodesUsed: 2, observedAtMs: 5, isLocalEphemeral: true },
        ...{ availableBytes: 50, capacityBytes: 100, inodesFree: 4, inodes: 10 },
      },
    ]);
    used = 2;
    await clock.advance(60_000);
    expect(measured.of({ uid: 'a' })[0]?.usedBytes).toBe(2);
    expect(asked).toEqual(['a', 'a']);
    await end();
  });

  it('W6: a pod whose volumes take long to measure delays no other pod, is not measured twice at once, and keeps its last result', async () => {
    let hangs = false;
    const { clock, pods, asked, measured, end } = started((uid) =>
      hangs && uid === 'a' ? new Promise(() => {}) : Promise.resolve([usageOf(1, 5)]),
    );
    await clock.advance(0);
    hangs = true;
    pods.set('b', podOf('b'));
    await clock.advance(180_000);
    expect(asked.filter((uid) => uid === 'a')).toHaveLength(2);
    expect(asked.filter((uid) => uid === 'b')).toHaveLength(3);
    expect(measured.of({ uid: 'a' })).toHaveLength(1);
    expect(measured.of({ uid: 'b' })).toHaveLength(1);
    await end();
  });

  it('volume usage is forgotten with its pod, and kept after a single failure', async () => {
    let fails = false;
    const { clock, pods, measured, end } = started(async () => {
      if (fails) throw new Error('no');
      return [usageOf(1, 5)];
    });
    await clock.advance(0);
    fails = true;
    await clock.advance(60_000);
    expect(measured.of({ uid: 'a' })).toHaveLength(1);
    pods.clear();
    await clock.advance(60_000);
    expect(measured.of({ uid: 'a' })).toEqual([]);
    await end();
  });

  it('W5: volume usage does not decrease if not everything could be counted, and the incomplete count is logged once', async () => {
    let usage = { ...usageOf(70, 5), inodesUsed: 7 };
    const { logger, lines } = captureLogger();
    const { clock, measured, end } = started(async () => [usage], 60_000, logger);
    const told = () => measured.of({ uid: 'a' }).map(({ usedBytes, inodesUsed }) => [usedBytes, inodesUsed]);
    await clock.advance(0);
    usage = { ...usageOf(20, 6), inodesUsed: 9, complete: false };
    await clock.advance(60_000);
    await clock.advance(60_000);
    expect(told()).toEqual([[70, 9]]);
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([{ fields: { podUid: 'a', volume: 'v' } }]);
    usage = { ...usageOf(20, 7), inodesUsed: 2 };
    await clock.advance(60_000);
    expect(told()).toEqual([[20, 2]]);
    await end();
  });

  it('W5: volume usage is a lower bound if the count was interrupted, until everything is counted', async () => {
    let usage = { ...usageOf(20, 5), complete: false };
    const { clock, measured, end } = started(async () => [usage]);
    const next = async (usedBytes: number, complete: boolean) => {
      usage = { ...usageOf(usedBytes, 5), complete };
      await clock.advance(60_000);
      return measured.of({ uid: 'a' }).map((figures) => [figures.usedBytes, figures.isLowerBound ?? false]);
    };
    await clock.advance(0);
    expect(await next(20, false)).toEqual([[20, true]]);
    expect(await next(10, false)).toEqual([[20, true]]);
    expect(await next(70, true)).toEqual([[70, false]]);
    // An incomplete count of 50 does not show that more than 70 is used.
    expect(await next(50, false)).toEqual([[70, false]]);
    expect(await next(80, false)).toEqual([[80, true]]);
    await end();
  });

  it('volume usage is not measured if disabled', async () => {
    const { clock, asked, end } = started(async () => [], -1);
    await clock.advance(600_000);
    expect(asked).toEqual([]);
    await end();
  });
});
