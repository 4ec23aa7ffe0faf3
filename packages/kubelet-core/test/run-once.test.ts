import { FakeClock } from '@node-agent/async/testing';
import type { PodUpdate } from '@node-agent/contracts';
import type { Pod, RuntimeContainerState, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import type { AdmitHandler } from '../src/admit/admit-handler.ts';
import { noAllocation } from '../src/admit/allocation.ts';
import { firstPods, runPodsOnce } from '../src/node/run-once.ts';

import { emptyStatus, makePod } from './fakes.ts';

const signal = new AbortController().signal;

function withContainer(pod: Pod, state: RuntimeContainerState): RuntimePodStatus {
  const container = {
    id: 'c1',
    name: 'main',
    state,
    createdAtMs: 1,
    startedAtMs: 1,
    finishedAtMs: 0,
    exitCode: 0,
    image: '',
    imageId: '',
    hash: '',
    restartCount: 0,
    reason: '',
    message: '',
    sandboxId: 's1',
  };
  return emptyStatus(pod, { containers: [container] });
}

function setUp(syncsUntilUp: number, options: { isTerminal?: boolean; fails?: boolean; admit?: AdmitHandler } = {}) {
  const clock = new FakeClock();
  const syncs: string[] = [];
  const run = (pods: readonly Pod[]) =>
    runPodsOnce(
      pods,
      {
        clock,
        allocation: noAllocation,
        admitHandlers: options.admit ? [options.admit] : [],
        runtime: {
          getPods: async () => [],
          getPodStatus: async (uid, name) =>
            syncs.filter((synced) => synced === uid).length >= syncsUntilUp
              ? withContainer(makePod(name, { uid }), 'running')
              : withContainer(makePod(name, { uid }), 'exited'),
          syncPod: async () => ({ results: [] }),
          killPod: async () => {},
          status: () => Promise.reject(new Error('not asked for')),
          containerEnded: () => {},
          forget: () => {},
        },
        syncer: {
          syncPod: async (_type, pod) => {
            syncs.push(pod.metadata.uid);
            if (options.fails) throw new Error('no image');
            return { isTerminal: options.isTerminal ?? false };
          },
        },
      },
      signal,
    );
  return { clock, syncs, run };
}

describe('runPodsOnce', () => {
  test('runPodsOnce syncs a pod until its containers run, with growing delays', async () => {
    const { clock, syncs, run } = setUp(3);
    const result = run([makePod('a')]);
    await clock.advance(2999);
    expect(syncs).toHaveLength(2);
    await clock.advance(1);
    expect(syncs).toHaveLength(3);
    expect(await result).toEqual([{ pod: makePod('a') }]);
  });

  test('runPodsOnce does not sync a running pod, and returns no error for a terminated pod', async () => {
    const up = setUp(0);
    expect(await up.run([makePod('a')])).toEqual([{ pod: makePod('a') }]);
    expect(up.syncs).toEqual([]);
    expect(await setUp(99, { isTerminal: true }).run([makePod('a')])).toEqual([{ pod: makePod('a') }]);
  });

  test('runPodsOnce returns an error with the last cause for a pod that never runs, without delaying the other pods', async () => {
    const { clock, syncs, run } = setUp(99, { fails: true });
    const result = run([makePod('a'), makePod('b')]);
    await clock.advance(3_000_000);
    const [first, second] = await result;
    expect(first?.error?.message).toMatch(/^timeout: pod default\/a does not run after 10 retries/);
    expect(first?.error?.cause).toEqual(new Error('no image'));
    expect(second?.error).toBeDefined();
    expect(syncs).toHaveLength(22);
  });

  test('runPodsOnce does not sync a rejected pod, and returns the rejection as error', async () => {
    const { syncs, run } = setUp(1, { admit: { admit: () => ({ admit: false, reason: 'NoRoom', message: 'full' }) } });
    const [result] = await run([makePod('a')]);
    expect(result?.error).toMatchObject({ code: 'Refused', message: 'NoRoom: full' });
    expect(syncs).toEqual([]);
  });
});

test('firstPods returns the pods of all sources', async () => {
  const updates: PodUpdate[] = [
    { op: 'ADD', source: 'file', pods: [makePod('a'), makePod('b')] },
    { op: 'REMOVE', source: 'file', pods: [makePod('b')] },
    { op: 'ADD', source: 'http', pods: [makePod('c')] },
    { op: 'ADD', source: 'http', pods: [makePod('late')] },
  ];
  let taken = 0;
  const podConfig = {
    updates: (async function* () {
      for (const update of updates) {
        taken += 1;
        yield update;
      }
    })(),
    seenAllSources: () => taken >= 3,
  };
  const pods = await firstPods(podConfig, signal);
  expect(pods.map((pod) => pod.metadata.name)).toEqual(['a', 'c']);
});
