import type { PodWorkerSync } from '@node-agent/contracts';
import { describe, expect, test } from 'vitest';

import { type HousekeepingView, planHousekeeping } from '../src/sync/housekeeping.ts';
import { makePod, makeRuntimePod } from './fakes.ts';

const working: PodWorkerSync = { state: 'sync', orphan: false, hasConfig: true, static: true };

function view(overrides: Partial<HousekeepingView>): HousekeepingView {
  return { pods: [], workers: new Map(), runningPods: [], isActive: () => true, ...overrides };
}

describe('planHousekeeping', () => {
  test('P6: a pod that only the runtime knows is killed', () => {
    const orphan = makeRuntimePod('orphan');
    const plan = planHousekeeping(view({ runningPods: [orphan] }));
    expect(plan).toEqual({ restart: [], finish: [], killOrphans: [orphan] });
  });

  test('a pod with a worker is left to its worker', () => {
    const pod = makePod('a');
    const plan = planHousekeeping(
      view({ pods: [pod], workers: new Map([['uid-a', working]]), runningPods: [makeRuntimePod('uid-a')] }),
    );
    expect(plan).toEqual({ restart: [], finish: [], killOrphans: [] });
  });

  test('P3: a wanted pod without a worker gets one again, and what runs of it is not taken for an orphan', () => {
    const pod = makePod('a');
    const plan = planHousekeeping(view({ pods: [pod], runningPods: [makeRuntimePod('uid-a')] }));
    expect(plan).toEqual({ restart: [pod], finish: [], killOrphans: [] });
  });

  test('a wanted pod that may not run here gets no worker', () => {
    expect(planHousekeeping(view({ pods: [makePod('a')], isActive: () => false })).restart).toEqual([]);
  });

  test('a deleted, terminal pod with nothing running is finished, one that runs is an orphan first', () => {
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
    ['deleted alone', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { phase: 'Running' } }],
    ['terminal alone', { status: { phase: 'Failed' } }],
  ])('a pod that is %s is not finished', (_what, overrides) => {
    expect(planHousekeeping(view({ pods: [makePod('a', overrides)], isActive: () => false })).finish).toEqual([]);
  });
});
