import type { PodWorkerSync } from '@node-agent/contracts';
import { describe, expect, test } from 'vitest';

import { type HousekeepingView, planHousekeeping, uidsToKeep, uidsWithProbes } from '../src/sync/housekeeping.ts';
import { makePod, makeRuntimePod } from './fakes.ts';

const working: PodWorkerSync = { state: 'sync', orphan: false, hasConfig: true, static: true };

function view(overrides: Partial<HousekeepingView>): HousekeepingView {
  return { pods: [], workers: new Map(), runningPods: [], isActive: () => true, ...overrides };
}

describe('planHousekeeping', () => {
  test('P6: housekeeping kills a pod that only the runtime knows', () => {
    const orphan = makeRuntimePod('orphan');
    const plan = planHousekeeping(view({ runningPods: [orphan] }));
    expect(plan).toEqual({ restart: [], finish: [], killOrphans: [orphan] });
  });

  test('housekeeping leaves a running pod that has a worker to the worker', () => {
    const pod = makePod('a');
    const plan = planHousekeeping(
      view({ pods: [pod], workers: new Map([['uid-a', working]]), runningPods: [makeRuntimePod('uid-a')] }),
    );
    expect(plan).toEqual({ restart: [], finish: [], killOrphans: [] });
  });

  test('P3: housekeeping restarts a desired pod without a worker, and does not treat its containers as orphaned', () => {
    const pod = makePod('a');
    const plan = planHousekeeping(view({ pods: [pod], runningPods: [makeRuntimePod('uid-a')] }));
    expect(plan).toEqual({ restart: [pod], finish: [], killOrphans: [] });
  });

  test('housekeeping does not start a desired pod that was rejected', () => {
    expect(planHousekeeping(view({ pods: [makePod('a')], isActive: () => false })).restart).toEqual([]);
  });

  test('housekeeping finishes a deleted, terminal pod only after its running containers were killed', () => {
    const gone = makePod('gone', {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { phase: 'Failed' },
    });
    const inactive = { pods: [gone], isActive: () => false };
    expect(planHousekeeping(view(inactive)).finish).toEqual([gone]);
    const running = planHousekeeping(view({ ...inactive, runningPods: [makeRuntimePod('uid-gone')] }));
    expect(running.finish).toEqual([]);
    expect(running.killOrphans).toHaveLength(1);
  });

  test.each([
    [
      'deleted but not terminal',
      { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { phase: 'Running' } },
    ],
    ['terminal but not deleted', { status: { phase: 'Failed' } }],
  ])('housekeeping does not finish a pod that is %s', (_what, overrides) => {
    expect(planHousekeeping(view({ pods: [makePod('a', overrides)], isActive: () => false })).finish).toEqual([]);
  });
});

describe('uidsToKeep', () => {
  const of = (state: PodWorkerSync['state']) => new Map([['uid-a', { ...working, state }]]);
  const nothing = { pods: [], mirrorPods: [], workers: new Map<string, PodWorkerSync>(), runningPods: [] };

  test.each([
    ['a desired pod', { pods: [makePod('a')] }, ['present', 'withStatus']],
    ['a mirror pod', { mirrorPods: [makePod('a')] }, ['present', 'withStatus']],
    ['a removed pod that its worker syncs', { workers: of('sync') }, ['present', 'withStatus', 'withProbes']],
    ['a removed pod that terminates', { workers: of('terminating') }, ['present', 'withStatus', 'withProbes']],
    ['a removed pod that has terminated', { workers: of('terminated') }, ['present']],
    ['a pod that only the runtime knows', { runningPods: [makeRuntimePod('uid-a')] }, ['present']],
    ['an unknown pod', {}, []],
  ])('R1, K4: housekeeping keeps the expected state of %s', (_name, view, expected) => {
    const all = { ...nothing, ...view };
    const keep = { ...uidsToKeep(all), withProbes: uidsWithProbes(all.workers) };
    expect(Object.entries(keep).flatMap(([name, uids]) => (uids.has('uid-a') ? [name] : []))).toEqual(expected);
  });
});
