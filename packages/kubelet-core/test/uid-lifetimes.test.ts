import { describe, expect, test } from 'vitest';
import { continuesRunningPod, type InstanceFacts, uidsAfterHousekeeping } from '../src/sync/uid-lifetimes.ts';

describe('uidsAfterHousekeeping', () => {
  const rows: readonly [string, 'tracked' | 'terminated' | 'unknown', boolean, boolean, string[]][] = [
    ['tracks a new pod that is present', 'unknown', true, false, ['tracked']],
    ['keeps tracking a pod that is present', 'tracked', true, false, ['tracked']],
    [
      'forgets a tracked pod that is absent, while the cache may still show it',
      'tracked',
      false,
      false,
      ['terminated', 'forgotten'],
    ],
    ['forgets a tracked pod that is absent and gone from the cache', 'tracked', false, true, ['forgotten']],
    ['keeps a terminated pod as long as the cache may still show it', 'terminated', false, false, ['terminated']],
    ['drops a terminated pod that is gone from the cache', 'terminated', false, true, []],
    ['tracks a terminated pod that is present again', 'terminated', true, false, ['tracked', 'terminated']],
  ];
  test.each(rows)('K4, P3: uidsAfterHousekeeping %s', (_name, before, isPresent, isGone, expected) => {
    const holding = (set: typeof before): ReadonlySet<string> => new Set(before === set ? ['uid'] : []);
    const after = uidsAfterHousekeeping(
      { tracked: holding('tracked'), terminated: holding('terminated') },
      new Set(isPresent ? ['uid'] : []),
      () => isGone,
    );
    const sets = { tracked: [...after.tracked], terminated: [...after.terminated], forgotten: after.forgotten };
    expect(Object.entries(sets).flatMap(([name, uids]) => (uids.includes('uid') ? [name] : []))).toEqual(expected);
  });
});

describe('continuesRunningPod', () => {
  const running: InstanceFacts = { hasWorker: false, wasTracked: false, isLateStatic: false, isRunning: true };
  const rows: readonly [string, Partial<InstanceFacts>, boolean][] = [
    ['a pod that an earlier kubelet started', {}, true],
    ['a pod that does not run', { isRunning: false }, false],
    ['a pod that this kubelet terminated', { wasTracked: true }, false],
    ['a pod that this kubelet runs', { wasTracked: true, hasWorker: true }, true],
    ['a static pod that arrives after the first list of its source', { isLateStatic: true }, false],
    ['a static pod that was removed and restored while it runs', { isLateStatic: true, hasWorker: true }, true],
    ['a known pod whose containers have stopped', { hasWorker: true, wasTracked: true, isRunning: false }, false],
  ];
  test.each(rows)('N1, N9: the addition of %s continues a running pod: $2', (_name, facts, expected) => {
    expect(continuesRunningPod({ ...running, ...facts })).toBe(expected);
  });
});
