import type { RuntimeContainerStatus, RuntimePodStatus } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { planDeletion } from '../src/plan-deletion.ts';
import { logKeyOfPath, podUidOfLogDirectory } from '../src/plan-logs.ts';
import { type GcSandbox, planSandboxGc } from '../src/plan-sandboxes.ts';

describe('planSandboxGc', () => {
  const sandbox = (id: string, podUid: string, createdAtMs: number, ready = false): GcSandbox => ({
    id,
    podUid,
    createdAtMs,
    ready,
    attempt: 0,
  });
  const plan = (
    sandboxes: readonly GcSandbox[],
    occupied: readonly string[] = [],
    gone: readonly string[] = [],
    ended: readonly string[] = [],
    evict = false,
  ): string[] => {
    const pods = {
      shouldPodContentBeRemoved: (uid: string) => gone.includes(uid),
      shouldPodRuntimeBeRemoved: (uid: string) => gone.includes(uid) || ended.includes(uid),
    };
    return planSandboxGc(sandboxes, new Set(occupied), pods, evict).map(({ id }) => id);
  };

  it.each([
    [
      'keeps the newest sandbox of a pod that continues',
      [sandbox('1', 'a', 1), sandbox('3', 'a', 3), sandbox('2', 'a', 2)],
      [],
      [],
      ['1', '2'],
    ],
    ['keeps ready sandboxes', [sandbox('1', 'a', 1, true), sandbox('2', 'a', 2)], [], [], []],
    ['keeps sandboxes with containers', [sandbox('1', 'a', 1), sandbox('2', 'a', 2)], ['1'], [], []],
    ['removes all sandboxes of a removed pod', [sandbox('1', 'a', 1), sandbox('2', 'a', 2)], [], ['a'], ['1', '2']],
    ['removes ready sandboxes of a removed pod, too (K4)', [sandbox('1', 'a', 1, true)], [], ['a'], ['1']],
    [
      'keeps sandboxes with containers of a removed pod',
      [sandbox('1', 'a', 1), sandbox('2', 'a', 2, true)],
      ['1', '2'],
      ['a'],
      [],
    ],
    ['keeps the sandbox of another pod', [sandbox('1', 'a', 1), sandbox('2', 'b', 2)], [], ['b'], ['2']],
  ])('the plan for dead sandboxes %s', (_, sandboxes, occupied, gone, removed) => {
    expect(plan(sandboxes, occupied, gone)).toEqual(removed);
  });

  it('removes the last sandbox of a terminated pod only if the disk is short of space', () => {
    expect(plan([sandbox('1', 'a', 1)], [], [], ['a'])).toEqual([]);
    expect(plan([sandbox('1', 'a', 1)], [], [], ['a'], true)).toEqual(['1']);
  });

  it('P5: treats the higher attempt as newer if the clock was set back before its creation', () => {
    expect(plan([sandbox('1', 'a', 1), { ...sandbox('2', 'a', 1), attempt: 1 }])).toEqual(['1']);
    expect(plan([sandbox('1', 'a', 9), { ...sandbox('2', 'a', 1), attempt: 1 }])).toEqual(['1']);
  });
});

describe('planDeletion', () => {
  const container = (id: string, name: string, createdAtMs: number, state = 'exited'): RuntimeContainerStatus =>
    ({ id, name, createdAtMs, state, restartCount: createdAtMs }) as RuntimeContainerStatus;
  const status = {
    containers: [
      container('x1', 'x', 1),
      container('x3', 'x', 3),
      container('x4', 'x', 4, 'running'),
      container('x2', 'x', 2),
      container('y1', 'y', 1),
    ],
  } as unknown as RuntimePodStatus;

  it.each([
    ['x3', 1, ['x2', 'x1']],
    ['x4', 2, ['x1']],
    ['y1', 1, []],
    ['gone', 1, []],
    ['', 1, ['x2', 'x1', 'y1']],
    ['', 0, ['x3', 'x2', 'x1', 'y1']],
    ['x3', Number.POSITIVE_INFINITY, []],
  ])('when container %j exits and %s dead containers are kept, %j are removed', (exited, keep, ids) => {
    expect(planDeletion(status, exited, keep).map(({ id }) => id)).toEqual(ids);
  });

  it('C2: keeps the last attempt if the clock was set back before its creation', () => {
    const last = { ...container('x5', 'x', 0), restartCount: 5 };
    const set = { ...status, containers: [...status.containers, last] };
    expect(planDeletion(set, 'x5', 1).map(({ id }) => id)).toEqual(['x3', 'x2', 'x1']);
  });

  it('keeps the last created of containers with the same attempt number, in any order of the list', () => {
    const containers = [5, 7, 6].map((at) => ({ ...container(`x${at}`, 'x', at), restartCount: 0 }));
    for (const listed of [containers, containers.toReversed()]) {
      const set = { ...status, containers: listed };
      expect(planDeletion(set, 'x5', 1).map(({ id }) => id)).toEqual(['x6', 'x5']);
    }
  });
});

describe('names of log directories and files', () => {
  it.each([
    ['default_web_1234', '1234'],
    ['lost+found', undefined],
    ['a_b_c_d', undefined],
    ['_b_c', undefined],
    ['1234', undefined],
  ])('the log directory %s belongs to pod %s', (name, uid) => {
    expect(podUidOfLogDirectory(name)).toBe(uid);
  });

  it.each([
    ['/var/log/pods/default_web_1234/app/3.log', '1234/app/3'],
    ['/var/log/pods/default_web_1234/app/x.log', undefined],
    ['/var/lib/docker/containers/x/3.log', undefined],
    ['3.log', undefined],
  ])('the log file %s belongs to container attempt %s', (path, key) => {
    expect(logKeyOfPath(path)).toBe(key);
  });
});
