import { describe, expect, it } from 'vitest';
import { nextPodWorkerState, type PodWorkerEvent, type PodWorkerState, type UpdatePodOptions } from '../src/index.ts';
import { pod, runtimePod } from './kit.ts';

const NOW = 1000;

function update(options: UpdatePodOptions, nothingRunning = false): PodWorkerEvent {
  return { type: 'update', options, nothingRunning, nowMs: NOW };
}
const create = (shape = {}): PodWorkerEvent => update({ updateType: 'create', pod: pod(shape) });
const kill = (killPodOptions = {}, shape = {}): PodWorkerEvent =>
  update({ updateType: 'kill', pod: pod(shape), killPodOptions });
const runtimeKill: PodWorkerEvent = update({ updateType: 'kill', runningPod: runtimePod() });
const wake: PodWorkerEvent = { type: 'wake' };
const begin: PodWorkerEvent = { type: 'begin', turn: true, nowMs: NOW };
const noTurn: PodWorkerEvent = { type: 'begin', turn: false, nowMs: NOW };
const ended = (outcome: 'done' | 'terminal' | 'failed' | 'cancelled'): PodWorkerEvent => ({
  type: 'ended',
  outcome,
});
const housekeeping = (desired: boolean): PodWorkerEvent => ({ type: 'housekeeping', desired });

/** Returns the record after a series of events. */
function stateAfter(...events: PodWorkerEvent[]): PodWorkerState | undefined {
  let state: PodWorkerState | undefined;
  for (const event of events) state = nextPodWorkerState(state, event).state;
  return state;
}

function effectsOf(state: PodWorkerState | undefined, event: PodWorkerEvent): string[] {
  return nextPodWorkerState(state, event).effects.map((e) => (e.kind === 'run' ? `run ${e.step}` : e.kind));
}

const syncingRow = [create(), begin];
const terminatingRow = [...syncingRow, ended('done'), kill()];
const terminatedRow = [...terminatingRow, begin, ended('done')];
const finishedRow = [...terminatedRow, begin, ended('done')];

describe('the state table of a pod worker', () => {
  const rows: [string, PodWorkerEvent[], string, string[]][] = [
    ['a first update starts syncing', [create()], 'syncing', ['begin']],
    [
      'a first update of a pod that is marked for deletion terminates it',
      [create({ deleted: true })],
      'terminating',
      ['begin'],
    ],
    ['a first update of a Failed pod that runs terminates it', [create({ phase: 'Failed' })], 'terminating', ['begin']],
    [
      'a first update of a Succeeded pod without containers starts with the clean-up',
      [update({ updateType: 'create', pod: pod({ phase: 'Succeeded' }) }, true)],
      'terminated',
      ['begin'],
    ],
    ['P6: a pod that only the runtime knows is terminated', [runtimeKill], 'terminating', ['begin']],
    [
      'P6: a pod that only the runtime knows cannot be synced',
      [update({ updateType: 'sync', runningPod: runtimePod() })],
      'unknown',
      ['ignored'],
    ],
    ['the begin of a syncing pod runs syncPod', syncingRow, 'syncing', ['run syncPod']],
    ['P4: a begin waits while another pod has the full name', [create({ static: true }), noTurn], 'syncing', ['wait']],
    ['P2: a begin while a step runs does nothing', [...syncingRow, wake, begin], 'syncing', []],
    ['the end of a step changes nothing if no step runs', [create(), ended('failed')], 'syncing', []],
    ['a create of a pod that is known is an update', [...syncingRow, create()], 'syncing', ['begin']],
    ['a successful sync is followed by another one later', [...syncingRow, ended('done')], 'syncing', ['requeue']],
    ['P7: a failed sync is retried', [...syncingRow, ended('failed')], 'syncing', ['requeue']],
    [
      'an update during a sync begins the next step',
      [...syncingRow, update({ updateType: 'update', pod: pod() }), ended('done')],
      'syncing',
      ['begin'],
    ],
    ['P7: a wake-up during a sync begins the next step', [...syncingRow, wake, ended('done')], 'syncing', ['begin']],
    [
      'P2: a status function that arrives during the termination repeats the step',
      [...terminatingRow, begin, kill({ podStatusFn: (status: object) => status }), ended('done')],
      'terminating',
      ['begin'],
    ],
    [
      'P2: a status function that arrived before the termination does not repeat the step',
      [...terminatingRow, kill({ podStatusFn: (status: object) => status }), begin, ended('done')],
      'terminated',
      ['begin'],
    ],
    [
      'P2: a status function that arrives while the termination waits for its input does not repeat the step',
      [
        ...terminatingRow,
        begin,
        kill({ podStatusFn: (status: object) => status }),
        { type: 'delivered' },
        ended('done'),
      ],
      'terminated',
      ['begin'],
    ],
    [
      'P7: a wake-up of an idle pod begins a step immediately',
      [...syncingRow, ended('done'), wake],
      'syncing',
      ['begin'],
    ],
    [
      'a terminal sync is followed by the terminating step',
      [...syncingRow, ended('terminal')],
      'terminating',
      ['begin'],
    ],
    ['a kill cancels a running sync', [...syncingRow, kill()], 'terminating', ['cancel', 'begin']],
    [
      'a deletion cancels a running sync',
      [...syncingRow, update({ updateType: 'update', pod: pod({ deleted: true }) })],
      'terminating',
      ['cancel', 'begin'],
    ],
    [
      'a terminal phase cancels a running sync',
      [...syncingRow, update({ updateType: 'update', pod: pod({ phase: 'Failed' }) })],
      'terminating',
      ['cancel', 'begin'],
    ],
    [
      'P6: the runtime-only kill of a known pod terminates it',
      [...syncingRow, runtimeKill],
      'terminating',
      ['cancel', 'begin'],
    ],
    [
      'leaving the configuration cancels a running sync',
      [...syncingRow, housekeeping(false)],
      'terminating',
      ['cancel', 'begin'],
    ],
    [
      'leaving the configuration of an idle pod cancels nothing',
      [...syncingRow, ended('done'), housekeeping(false)],
      'terminating',
      ['begin'],
    ],
    [
      'P1: a cancelled sync that ends well leaves the pod terminating',
      [...syncingRow, kill(), ended('terminal')],
      'terminating',
      ['begin'],
    ],
    [
      'a terminating pod runs syncTerminatingPod',
      [...terminatingRow, begin],
      'terminating',
      ['run syncTerminatingPod'],
    ],
    [
      'a second kill with the same grace period cancels nothing',
      [...terminatingRow, begin, kill()],
      'terminating',
      ['begin'],
    ],
    [
      'a shorter grace period cancels the running step',
      [...terminatingRow, begin, kill({ gracePeriodSecondsOverride: 5 })],
      'terminating',
      ['cancel', 'begin'],
    ],
    [
      'a longer grace period cancels nothing',
      [...terminatingRow, begin, kill({ gracePeriodSecondsOverride: 90 })],
      'terminating',
      ['begin'],
    ],
    ['P7: a failed termination is retried', [...terminatingRow, begin, ended('failed')], 'terminating', ['requeue']],
    ['a successful termination is followed by the clean-up', terminatedRow, 'terminated', ['begin']],
    ['a terminated pod runs syncTerminatedPod', [...terminatedRow, begin], 'terminated', ['run syncTerminatedPod']],
    ['P7: a failed clean-up is retried', [...terminatedRow, begin, ended('failed')], 'terminated', ['requeue']],
    ['a successful clean-up finishes the pod', finishedRow, 'finished', []],
    ['P1: a wake-up of a finished pod does nothing', [...finishedRow, wake], 'finished', []],
    [
      'P1: an update of a finished pod changes nothing',
      [...finishedRow, update({ updateType: 'update', pod: pod() })],
      'finished',
      ['ignored'],
    ],
    ['P3: a create does not restart a terminating pod', [...terminatingRow, create()], 'terminating', ['ignored']],
    ['P3: a create does not restart a finished pod', [...finishedRow, create()], 'finished', ['ignored']],
    ['P3: housekeeping keeps a finished pod that is desired', [...finishedRow, housekeeping(true)], 'finished', []],
    [
      'P3: housekeeping forgets a finished pod that is not desired',
      [...finishedRow, housekeeping(false)],
      'unknown',
      [],
    ],
    [
      'P3: housekeeping forgets a finished pod whose UID was added again',
      [...finishedRow, create(), housekeeping(true)],
      'unknown',
      [],
    ],
    [
      'P3: housekeeping keeps a terminated pod whose UID was added again until its clean-up',
      [...terminatedRow, create(), housekeeping(true)],
      'terminated',
      [],
    ],
    ['a desired pod is left alone by housekeeping', [...syncingRow, ended('done'), housekeeping(true)], 'syncing', []],
    [
      'a pod that never started is forgotten when it leaves the configuration',
      [create(), housekeeping(false)],
      'unknown',
      [],
    ],
    [
      'a terminating pod that leaves the configuration is looked at once',
      [...terminatingRow, begin, ended('failed'), housekeeping(false)],
      'terminating',
      ['begin'],
    ],
    [
      'P7: ... and after that has its back-off',
      [...terminatingRow, begin, ended('failed'), housekeeping(false), begin, ended('failed'), housekeeping(false)],
      'terminating',
      [],
    ],
    ['P6: a runtime-only pod has its own step', [runtimeKill, begin], 'terminating', ['run syncTerminatingRuntimePod']],
    ['P6: a runtime-only pod is forgotten when it is gone', [runtimeKill, begin, ended('done')], 'unknown', []],
    [
      'P6: a failed runtime-only termination is tried again',
      [runtimeKill, begin, ended('failed')],
      'terminating',
      ['requeue'],
    ],
    ['P6: housekeeping does not forget a runtime-only pod', [runtimeKill, housekeeping(false)], 'terminating', []],
    ['a runtime-only kill of a terminated pod is ignored', [...terminatedRow, runtimeKill], 'terminated', ['ignored']],
    [
      'P4: a static pod that is killed before its turn is finished',
      [create({ static: true }), noTurn, kill({}, { static: true }), noTurn],
      'finished',
      [],
    ],
    [
      'P6: ... but not one that the runtime was seen to have',
      [create({ static: true }), noTurn, runtimeKill, noTurn],
      'terminating',
      ['run syncTerminatingPod'],
    ],
  ];
  it.each(rows)('the state table of a pod worker: %s, and the next phase is $2', (_name, events, phase, effects) => {
    const before = stateAfter(...events.slice(0, -1));
    const last = events.at(-1);
    if (last === undefined) throw new Error('a row needs an event');
    expect(nextPodWorkerState(before, last).state?.phase ?? 'unknown').toBe(phase);
    expect(effectsOf(before, last)).toEqual(effects);
  });
});

describe('record of a pod', () => {
  it('P2: the record of a pod keeps only the newest pending update', () => {
    const state = stateAfter(
      ...syncingRow,
      update({ updateType: 'update', pod: pod({ graceSeconds: 1 }) }),
      update({ updateType: 'update', pod: pod({ graceSeconds: 2 }) }),
    );
    expect(state?.pending?.pod?.spec.terminationGracePeriodSeconds).toBe(2);
  });

  it('P2: merged updates keep the oldest start time for metrics', () => {
    const at = (startTimeMs: number): PodWorkerEvent => update({ updateType: 'update', pod: pod(), startTimeMs });
    expect(stateAfter(at(5), at(9))?.pending?.startTimeMs).toBe(5);
    expect(stateAfter(at(9), at(5))?.pending?.startTimeMs).toBe(5);
    expect(stateAfter(at(9), update({ updateType: 'update', pod: pod() }))?.pending?.startTimeMs).toBe(9);
  });

  it('P2: the record of a pod keeps the shortest grace period of all kills', () => {
    const state = stateAfter(
      create(),
      kill({ gracePeriodSecondsOverride: 20 }),
      kill({ gracePeriodSecondsOverride: 3 }),
      kill({ gracePeriodSecondsOverride: 10 }),
      update({ updateType: 'sync', pod: pod() }),
    );
    expect(state?.gracePeriodSeconds).toBe(3);
  });

  describe('C5: the grace period of a deleted pod', () => {
    const endMs = Date.parse('2026-01-01T00:00:00Z');
    const shape = { deleted: true, graceSeconds: 30, deletionGraceSeconds: 30 };
    const at = (leftMs: number, more: Partial<UpdatePodOptions> = {}): PodWorkerEvent => ({
      ...{ type: 'update', options: { updateType: 'create', pod: pod(shape), ...more }, nothingRunning: false },
      nowMs: endMs - leftMs,
    });

    it.each([
      [30_000, 30],
      [12_000, 12],
      [-60_000, 1],
      // The clock of the API server is ahead.
      [90_000, 30],
    ])(
      'C5: after a kubelet restart with %d ms left until deletionTimestamp, the grace period is %d s',
      (leftMs, seconds) => {
        expect(stateAfter(at(leftMs))?.gracePeriodSeconds).toBe(seconds);
      },
    );

    it('C5: the grace period of a deleted pod is shorter if a kill requests a shorter one', () => {
      const killPodOptions = { gracePeriodSecondsOverride: 4 };
      expect(stateAfter(at(12_000, { updateType: 'kill', killPodOptions }))?.gracePeriodSeconds).toBe(4);
    });

    it('C5: later updates of the same deletion do not change the grace period', () => {
      const later = at(-60_000, { updateType: 'update' });
      expect(stateAfter(at(12_000), begin, later)?.gracePeriodSeconds).toBe(12);
    });

    it("C5: the grace period is complete if this kubelet ran the pod before its deletion, whatever the API server's clock says", () => {
      const later = at(-60_000, { updateType: 'update' });
      expect(stateAfter(create(), begin, ended('done'), later)?.gracePeriodSeconds).toBe(30);
    });
  });

  it('P2: the record of a pod keeps the status functions and callbacks of all kills in order', () => {
    const fns = [1, 2, 3].map(() => ({ completed: () => {}, podStatusFn: (status: object) => status }));
    const state = stateAfter(create(), ...fns.map((fn) => kill(fn)), update({ updateType: 'sync', pod: pod() }));
    expect(state?.completions).toEqual(fns.map((fn) => fn.completed));
    expect(state?.podStatusFns).toEqual(fns.map((fn) => fn.podStatusFn));
  });

  it('records an eviction even of a pod that is already terminating', () => {
    expect(stateAfter(create(), kill({ evict: true }))?.evicted).toBe(true);
    expect(stateAfter(create(), kill(), kill({ evict: true }), kill())?.evicted).toBe(true);
    expect(stateAfter(create(), kill())?.evicted).toBe(false);
    expect(
      stateAfter(create(), update({ updateType: 'update', pod: pod(), killPodOptions: { evict: true } }))?.evicted,
    ).toBe(false);
  });

  it('counts a pod as deleted after a deletionTimestamp, a runtime-only kill, or leaving the configuration, but not after a kill', () => {
    expect(stateAfter(create({ deleted: true }))?.deleted).toBe(true);
    expect(stateAfter(runtimeKill)?.deleted).toBe(true);
    expect(stateAfter(...syncingRow, housekeeping(false))?.deleted).toBe(true);
    expect(stateAfter(...terminatingRow, housekeeping(false))?.deleted).toBe(true);
    expect(stateAfter(create(), kill())?.deleted).toBe(false);
  });

  it('S5: counts a terminated pod as deleted after a deletionTimestamp, so that its remains can be removed', () => {
    const deletion = update({ updateType: 'update', pod: pod({ deleted: true }) });
    const news = update({ updateType: 'update', pod: pod() });
    for (const row of [terminatingRow, terminatedRow, finishedRow]) {
      expect(stateAfter(...row, news)?.deleted).toBe(false);
      expect(stateAfter(...row, deletion)?.deleted).toBe(true);
      expect(stateAfter(...row, deletion, news)?.deleted).toBe(true);
    }
    const first = update({ updateType: 'create', pod: pod({ phase: 'Succeeded', deleted: true }) }, true);
    expect(stateAfter(first)).toMatchObject({ phase: 'terminated', deleted: true });
  });

  it('C5: a static pod of an earlier kubelet process is terminated even if it is killed before its first step in this process', () => {
    const rows = [create({ static: true }), kill({}, { static: true })];
    const begun = (runs: boolean) => stateAfter(...rows, { type: 'begin', turn: true, runs, nowMs: 1 });
    expect(begun(false)?.phase).toBe('finished');
    expect(begun(true)).toMatchObject({ phase: 'terminating', running: 'syncTerminatingPod' });
    // A pod that leaves the configuration while it terminates is not forgotten.
    const left = begun(true) && nextPodWorkerState(begun(true), housekeeping(false)).state;
    expect(left).toMatchObject({ phase: 'terminating', deleted: true });
  });

  it('P6: a kill update that has only the runtime pod does not replace the spec of a pod that has one', () => {
    const state = stateAfter(create(), runtimeKill);
    expect(state?.pending?.pod?.metadata.name).toBe('web');
    expect(state?.pending?.runningPod).toBeUndefined();
    expect(state?.observedRuntime).toBe(true);
    expect(stateAfter(runtimeKill, update({ updateType: 'sync', pod: pod() }))?.pending?.pod).toBeDefined();
    expect(stateAfter(...syncingRow, ended('done'), runtimeKill)?.pending?.pod?.metadata.name).toBe('web');
  });

  it('the start of a step does not change the record if no status function arrived before', () => {
    const state = stateAfter(...terminatingRow, begin);
    expect(nextPodWorkerState(state, { type: 'delivered' })).toEqual({ state, effects: [] });
    expect(nextPodWorkerState(state, { type: 'delivered' }).state).toBe(state);
  });

  it('a wake-up after a finished sync replays the last update as a sync, without its start time', () => {
    const state = stateAfter(
      update({ updateType: 'create', pod: pod(), mirrorPod: pod({ uid: 'm' }), startTimeMs: 1 }),
      begin,
      ended('done'),
      wake,
    );
    expect(state?.pending).toMatchObject({
      updateType: 'sync',
      startTimeMs: undefined,
      mirrorPod: { metadata: { uid: 'm' } },
    });
  });

  it('an update that is merged with a more urgent one is not delayed', () => {
    const news = update({ updateType: 'update', pod: pod() });
    expect(stateAfter(...syncingRow, news, news)?.pending?.patient).toBe(true);
    expect(stateAfter(create(), news)?.pending?.patient).toBe(false);
    expect(stateAfter(...syncingRow, wake, news)?.pending?.patient).toBe(false);
    expect(stateAfter(...syncingRow, news, wake)?.pending?.patient).toBe(false);
    expect(stateAfter(...syncingRow, news, kill())?.pending?.patient).toBe(false);
    expect(stateAfter(...syncingRow, news, ended('done'), begin, ended('done'), wake)?.pending?.patient).toBe(false);
  });

  const started: [string, PodWorkerEvent[], boolean][] = [
    ['yes for a pod that is synced', syncingRow, true],
    ['yes for an API pod that terminates without a sync', [create({ deleted: true }), begin], true],
    ['no while a static pod waits for its full name', [create({ static: true }), noTurn], false],
    [
      'no for a static pod that terminates without having started',
      [create({ static: true }), noTurn, runtimeKill, begin],
      false,
    ],
    ['no for a pod that only the runtime knows', [runtimeKill, begin], false],
  ];
  it.each(started)('P4: a pod counts as started by this kubelet ($2): %s', (_name, events, expected) => {
    expect(stateAfter(...events)?.startedAtMs).toBe(expected ? NOW : undefined);
  });

  it('drops the mirror pod from the next sync if an update has none', () => {
    const state = stateAfter(
      update({ updateType: 'create', pod: pod(), mirrorPod: pod({ uid: 'm' }) }),
      begin,
      ended('done'),
      update({ updateType: 'update', pod: pod() }),
      begin,
      ended('done'),
      wake,
    );
    expect(state?.pending?.mirrorPod).toBeUndefined();
  });

  it('P1: a terminal result of a cancelled sync is ignored after a kill', () => {
    expect(stateAfter(...syncingRow, kill(), ended('terminal'))?.terminationStarted).toBe(false);
  });

  it('no container is started after the pod worker has observed the termination', () => {
    expect(stateAfter(...syncingRow, kill())?.terminationStarted).toBe(false);
    expect(stateAfter(...syncingRow, housekeeping(false))?.terminationStarted).toBe(false);
    expect(stateAfter(...syncingRow, kill(), ended('cancelled'), begin)?.terminationStarted).toBe(true);
    expect(stateAfter(...syncingRow, ended('terminal'))?.terminationStarted).toBe(true);
  });
});

it.each<[string, PodWorkerEvent[], PodWorkerEvent]>([
  [
    'a pod that only the runtime knows can only be killed',
    [],
    update({ updateType: 'sync', runningPod: runtimePod() }),
  ],
  ['the pod is terminating; it is started again when it has terminated', terminatingRow, create()],
  ['the pod is finished', finishedRow, kill()],
  ['the pod has terminated; its pod worker is cleaning up', terminatedRow, runtimeKill],
])('an update of a pod is ignored with the reason: %s', (reason, before, event) => {
  expect(nextPodWorkerState(stateAfter(...before), event).effects).toEqual([{ kind: 'ignored', reason }]);
});

describe('completion callbacks of kills', () => {
  const completed = (): void => {};
  const rows: [string, PodWorkerEvent[]][] = [
    [
      'of a kill, when the pod has terminated',
      [...syncingRow, kill({ completed }), ended('cancelled'), begin, ended('done')],
    ],
    ['of a kill of a terminated pod, immediately', [...terminatedRow, kill({ completed })]],
    ['of a kill of a finished pod, immediately', [...finishedRow, kill({ completed })]],
    [
      'of an update that is no kill, immediately',
      [update({ updateType: 'update', pod: pod(), killPodOptions: { completed } })],
    ],
    [
      'of a create that requests a restart, immediately',
      [...terminatingRow, update({ updateType: 'create', pod: pod(), killPodOptions: { completed } })],
    ],
    [
      'of a runtime-only update that is no kill, immediately',
      [update({ updateType: 'sync', runningPod: runtimePod(), killPodOptions: { completed } })],
    ],
    [
      'of a runtime-only kill, when its containers are gone',
      [update({ updateType: 'kill', runningPod: runtimePod(), killPodOptions: { completed } }), begin, ended('done')],
    ],
    [
      'of a runtime-only kill of a terminated pod, immediately',
      [...terminatedRow, update({ updateType: 'kill', runningPod: runtimePod(), killPodOptions: { completed } })],
    ],
    [
      'of a kill of a static pod that never started, at its begin',
      [create({ static: true }), kill({ completed }, { static: true }), noTurn],
    ],
    [
      'of a kill of a pod that never started, when the pod leaves the configuration',
      [create(), kill({ completed }), housekeeping(false)],
    ],
  ];
  it.each(rows)('P2: each completion callback is called exactly once, here that %s', (_name, events) => {
    let state: PodWorkerState | undefined;
    const called: (() => void)[][] = [];
    for (const event of events) {
      const transition = nextPodWorkerState(state, event);
      state = transition.state;
      called.push(transition.effects.flatMap((e) => (e.kind === 'complete' ? e.completions : [])));
    }
    expect(called.at(-1)).toEqual([completed]);
    expect(called.flat()).toHaveLength(1);
    expect(state?.completions ?? []).toEqual([]);
  });
});

it('the state table rejects an update without pod and runningPod', () => {
  expect(() => stateAfter(update({ updateType: 'sync' }))).not.toThrow();
  expect(() => stateAfter(update({ updateType: 'kill' }))).toThrow('must have pod or runningPod');
});
