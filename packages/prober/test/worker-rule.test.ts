import type { ContainerStatus } from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProbeKind } from '../src/types.ts';
import { afterProbe, beforeProbe, newWorkerState, runningSinceMs, type WorkerState } from '../src/worker-rule.ts';
import { CREATED_MS, container, podOf, running, sightOf, statusOf } from './builders.ts';

const known: WorkerState = { ...newWorkerState, containerId: 'c1' };
const terminated = (exitCode: number): Partial<ContainerStatus> => ({
  state: { terminated: { exitCode, reason: 'x' } },
});
const waiting: Partial<ContainerStatus> = { state: { waiting: { reason: 'CrashLoopBackOff' } } };
const only = (fields: Partial<ContainerStatus>) => statusOf([running('web', 'c1', fields)]);

describe('beforeProbe', () => {
  test('probes a container that runs and has started', () => {
    expect(beforeProbe(known, sightOf())).toEqual({ state: known, next: { kind: 'probe' } });
  });

  test.each([
    ['the status of the pod', sightOf({ status: undefined })],
    ['the container', sightOf({ status: statusOf([]) })],
    ['the container', sightOf({ status: only({ containerID: '' }) })],
    ['the end of the initial delay', sightOf({ times: { initialDelayMs: 60_001 } })],
    ['the startup probe', sightOf({ status: only({ started: false }) })],
    ["the pod's address", sightOf({ status: statusOf([running('web', 'c1')], { podIP: '' }) })],
    ['a new container', sightOf({ kind: 'startup' })],
  ])('a probe waits for %s', (why, facts) => {
    expect(beforeProbe(known, facts).next).toMatchObject({ kind: 'wait', why });
  });

  test('a probe waits for the end of the initial delay to the millisecond', () => {
    const early = beforeProbe(known, sightOf({ times: { initialDelayMs: 60_001 } }));
    expect(early.next).toMatchObject({ atMs: CREATED_MS + 60_001 });
    expect(beforeProbe(known, sightOf({ times: { initialDelayMs: 60_000 } })).next.kind).toBe('probe');
  });

  test('a container is probed even if the wall clock was set back', () => {
    const facts = { nowMs: CREATED_MS - 3_600_000, times: { initialDelayMs: 5000 } };
    expect(beforeProbe(known, sightOf({ ...facts, knownForMs: 4999 })).next).toMatchObject({
      kind: 'wait',
      atMs: facts.nowMs + 1,
    });
    expect(beforeProbe(known, sightOf({ ...facts, knownForMs: 5000 })).next.kind).toBe('probe');
    expect(beforeProbe(newWorkerState, sightOf({ ...facts, times: { initialDelayMs: 0 } })).next.kind).toBe('probe');
    const successor = beforeProbe({ ...known, containerId: 'c0' }, sightOf({ ...facts, knownForMs: 60_000 }));
    expect(successor.next).toMatchObject({ kind: 'wait', atMs: facts.nowMs + 5000 });
  });

  test('R1: only the startup probe runs while the container has not started', () => {
    const status = only({ started: false });
    expect(beforeProbe(known, sightOf({ kind: 'startup', status })).next.kind).toBe('probe');
    expect(beforeProbe(known, sightOf({ kind: 'liveness', status })).next.kind).toBe('wait');
    expect(beforeProbe(known, sightOf({ kind: 'liveness', status, startup: () => 'success' })).next.kind).toBe('probe');
    expect(beforeProbe(known, sightOf({ kind: 'liveness', status, startup: () => 'failure' })).next.kind).toBe('wait');
  });

  test('R1: the startup of an earlier container does not count for a new container', () => {
    const before = { ...known, containerId: 'c0' };
    const startup = (id: string) => (id === 'c0' ? 'success' : undefined);
    const facts = { status: only({ started: false }), startup };
    expect(beforeProbe(before, sightOf({ ...facts, kind: 'startup' })).next.kind).toBe('probe');
    expect(beforeProbe(before, sightOf(facts)).next).toMatchObject({ why: 'the startup probe' });
  });

  test.each<[ProbeKind, 'success' | 'failure' | 'unknown']>([
    ['liveness', 'success'],
    ['readiness', 'failure'],
    ['startup', 'unknown'],
  ])('R1: before its first attempt, the result of a %s probe is %s', (kind, set) => {
    const decision = beforeProbe(newWorkerState, sightOf({ kind, status: only({ started: false }) }));
    expect(decision).toMatchObject({ state: { containerId: 'c1' }, set });
    expect(decision.forget).toBeUndefined();
  });

  test('R2: a new container resets the probe state, and the result of the earlier container is forgotten', () => {
    const before: WorkerState = { containerId: 'c0', last: 'failure', run: 2, onHold: true };
    expect(beforeProbe(before, sightOf())).toEqual({
      ...{ state: known, next: { kind: 'probe' } },
      ...{ forget: 'c0', set: 'failure' },
    });
  });

  test('S6: a container that was ready before a kubelet restart stays ready', () => {
    const decision = beforeProbe(newWorkerState, sightOf({ status: only({ ready: true }) }));
    expect(decision).toEqual({ state: known, next: { kind: 'probe' } });
  });

  test('S6: a container that had started before a kubelet restart stays started', () => {
    expect(beforeProbe(newWorkerState, sightOf({ kind: 'startup' }))).toMatchObject({ set: 'success' });
  });

  test('a probe finds a sidecar among the init containers', () => {
    const web = container('web', { restartPolicy: 'Always' });
    const status = statusOf([running('other', 'c9')], { initContainerStatuses: [running('web', 'c1')] });
    const facts = sightOf({ pod: podOf('1', [container('other')], { initContainers: [web] }), container: web, status });
    expect(beforeProbe(known, facts)).toEqual({ state: known, next: { kind: 'probe' } });
    expect(runningSinceMs(status, 'web')).toBe(CREATED_MS);
  });

  test('a probe on hold waits until there is another container', () => {
    const held = { ...known, onHold: true };
    expect(beforeProbe(held, sightOf({ kind: 'liveness' }))).toEqual({
      state: held,
      next: { kind: 'wait', why: 'a new container' },
    });
    const status = statusOf([running('web', 'c2')]);
    expect(beforeProbe(held, sightOf({ kind: 'liveness', status })).next.kind).toBe('probe');
  });

  test.each([
    ['waits to run', waiting, 'Never', 'wait'],
    ['has terminated and restarts', terminated(0), 'Always', 'wait'],
    ['has failed and restarts', terminated(1), 'OnFailure', 'wait'],
    ['has succeeded for good', terminated(0), 'OnFailure', 'end'],
    ['has failed for good', terminated(1), 'Never', 'end'],
  ])('the probe of a container that %s counts as a failure', (_, fields, restartPolicy, next) => {
    const web = container('web');
    const pod = podOf('1', [web], { restartPolicy });
    expect(beforeProbe(known, sightOf({ pod, status: only(fields) }))).toMatchObject({
      set: 'failure',
      next: next === 'wait' ? { kind: 'wait', why: 'the container' } : { kind: 'end' },
    });
  });

  test('the probe of a container that was only created has no result, and the probe of a terminated container fails', () => {
    expect(beforeProbe(known, sightOf({ kind: 'liveness', status: only(waiting) })).set).toBeUndefined();
    expect(beforeProbe(known, sightOf({ kind: 'liveness', status: only(terminated(1)) })).set).toBe('failure');
  });

  test('C4: a probe waits for the restart of a sidecar, whatever the pod’s restartPolicy', () => {
    const side = container('side', { restartPolicy: 'Always' });
    const initContainers = [container('setup'), side];
    const pod = podOf('1', [container('web')], { restartPolicy: 'Never', initContainers });
    const status = statusOf([], { initContainerStatuses: [running('side', 'c1', terminated(1))] });
    const decision = beforeProbe(known, sightOf({ pod, container: side, status }));
    expect(decision.next).toMatchObject({ kind: 'wait' });
    const noRules = { containerRestartRules: false, restartAllContainers: false };
    const without = beforeProbe(known, sightOf({ pod, container: side, status, features: noRules }));
    expect(without.next).toMatchObject({ kind: 'wait' });
    const web = beforeProbe(known, sightOf({ pod, status: only(terminated(1)) }));
    expect(web.next).toEqual({ kind: 'end' });
  });

  test('C6: a probe waits for a terminated container if the exit of another one restarts all containers', () => {
    const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
    const other = container('other', { restartPolicy: 'Never', restartPolicyRules });
    const pod = podOf('1', [container('web'), other], { restartPolicy: 'Never' });
    const besides = (fields: Partial<ContainerStatus>) =>
      sightOf({ pod, status: statusOf([running('web', 'c1', terminated(0)), running('other', 'c2', fields)]) });
    expect(beforeProbe(known, besides(terminated(42))).next.kind).toBe('wait');
    expect(beforeProbe(known, besides(terminated(1))).next.kind).toBe('end');
    expect(beforeProbe(known, besides({})).next.kind).toBe('end');
    const features = { containerRestartRules: true, restartAllContainers: false };
    expect(beforeProbe(known, { ...besides(terminated(42)), features }).next.kind).toBe('end');
  });

  test('R1: readiness of a Failed pod is probed until its containers, including sidecars, have stopped', () => {
    const side = container('side', { restartPolicy: 'Always' });
    const pod = podOf('1', [container('web')], { initContainers: [side] });
    const statuses = (fields: Partial<ContainerStatus>) =>
      statusOf([running('web', 'c1', fields)], {
        phase: 'Failed',
        initContainerStatuses: [running('side', 'c2', fields)],
      });
    for (const [one, id] of [
      [container('web'), 'c1'],
      [side, 'c2'],
    ] as const) {
      const state = { ...newWorkerState, containerId: id };
      const decide = (kind: ProbeKind, fields: Partial<ContainerStatus> = {}) =>
        beforeProbe(state, sightOf({ kind, pod, container: one, status: statuses(fields) })).next.kind;
      expect(decide('readiness')).toBe('probe');
      expect(decide('readiness', terminated(0))).toBe('end');
      expect(decide('readiness', waiting)).toBe('end');
      expect(decide('liveness')).toBe('end');
      expect(decide('startup')).toBe('end');
    }
  });

  test.each(['Succeeded', 'Failed'])('a pod with phase %s is not probed any more', (phase) => {
    expect(beforeProbe(known, sightOf({ status: statusOf([], { phase }) })).next.kind).toBe('end');
  });

  test('a pod that is being deleted is still probed for readiness', () => {
    const pod = podOf('1', [container('web')]);
    const deleted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(beforeProbe(known, sightOf({ pod: deleted, kind: 'liveness' }))).toMatchObject({
      set: 'success',
      next: { kind: 'end' },
    });
    expect(beforeProbe(known, sightOf({ pod: deleted })).next.kind).toBe('probe');
  });
});

describe('afterProbe', () => {
  const thresholds = { successThreshold: 2, failureThreshold: 3 };

  test.each<[string, ProbeKind, ('success' | 'failure')[], (string | undefined)[]]>([
    ['counts consecutive failures', 'readiness', ['failure', 'failure', 'failure'], [undefined, undefined, 'failure']],
    [
      'counts from zero after a success',
      'readiness',
      ['failure', 'failure', 'success', 'failure'],
      Array(4).fill(undefined),
    ],
    ['counts consecutive successes', 'readiness', ['success', 'success'], [undefined, 'success']],
  ])('R2: for its thresholds, a probe %s', (_, kind, results, sets) => {
    let state = known;
    const seen = results.map((result) => {
      const after = afterProbe(state, result, kind, thresholds);
      state = after.state;
      return after.set;
    });
    expect(seen).toEqual(sets);
  });

  test.each<[ProbeKind, 'success' | 'failure', boolean]>([
    ['liveness', 'failure', true],
    ['liveness', 'success', false],
    ['startup', 'failure', true],
    ['startup', 'success', true],
    ['readiness', 'failure', false],
    ['readiness', 'success', false],
  ])('after a %s probe with the result %s the probe is on hold: %s', (kind, result, onHold) => {
    const { state, set } = afterProbe(known, result, kind, { successThreshold: 1, failureThreshold: 1 });
    expect([set, state.onHold]).toEqual([result, onHold]);
  });

  test('a repeated probe result returns the same state object', () => {
    const limits = { successThreshold: 2, failureThreshold: 1 };
    let { state } = afterProbe(known, 'success', 'readiness', limits);
    ({ state } = afterProbe(state, 'success', 'readiness', limits));
    for (let probe = 0; probe < 3; probe++) {
      expect(afterProbe(state, 'success', 'readiness', limits)).toEqual({ state, set: 'success' });
      expect(afterProbe(state, 'success', 'readiness', limits).state).toBe(state);
    }
    expect(afterProbe(state, 'failure', 'readiness', limits)).toMatchObject({ set: 'failure', state: { run: 1 } });
  });

  test('R2: a probe result changes only after as many consecutive outcomes as the threshold requires', () => {
    const results = fc.array(fc.constantFrom<'success' | 'failure'>('success', 'failure'), { maxLength: 40 });
    const limits = fc.record({
      successThreshold: fc.integer({ min: 1, max: 4 }),
      failureThreshold: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(results, limits, (found, limit) => {
        let state = known;
        found.forEach((result, index) => {
          const { set, state: next } = afterProbe(state, result, 'readiness', limit);
          state = next;
          const needed = result === 'success' ? limit.successThreshold : limit.failureThreshold;
          const row = found.slice(Math.max(0, index + 1 - needed), index + 1);
          const enough = row.length === needed && row.every((each) => each === result);
          expect(set).toBe(enough ? result : undefined);
        });
      }),
    );
  });
});

test('W3: the cost of checking exits grows linearly with the containers of a pod, with and without restart rules', () => {
  const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
  for (const rules of [{}, { restartPolicyRules }]) {
    const containers = Array.from({ length: 200 }, (_, at) =>
      container(`c${at}`, { restartPolicy: 'Never', ...rules }),
    );
    let reads = 0;
    const statuses = containers.map(({ name }) =>
      Object.defineProperty(running(name, `id-${name}`, { state: { terminated: { exitCode: 0 } } }), 'name', {
        get: () => {
          reads += 1;
          return name;
        },
      }),
    );
    const status = statusOf(statuses);
    const pod = podOf('1', containers, { restartPolicy: 'Never' });
    for (const each of containers) {
      expect(beforeProbe(newWorkerState, sightOf({ pod, container: each, status })).next).toEqual({ kind: 'end' });
    }
    expect(reads).toBeLessThan(1000);
  }
});

test('runningSinceMs is undefined for a container that does not run', () => {
  expect(runningSinceMs(statusOf([running('web', 'c1')]), 'web')).toBe(CREATED_MS);
  expect(runningSinceMs(only({ state: { running: {} } }), 'web')).toBe(0);
  expect(runningSinceMs(only(waiting), 'web')).toBeUndefined();
  expect(runningSinceMs(undefined, 'web')).toBeUndefined();
});
