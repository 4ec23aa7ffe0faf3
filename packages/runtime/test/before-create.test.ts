import { FakeClock } from '@node-agent/async/testing';
import { CriError } from '@node-agent/cri-client';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { beforeCreate } from '../src/reconcile/before-create.ts';
import { isNameTaken, TriedAttempts } from '../src/reconcile/tried-attempts.ts';
import { record } from './builders.ts';

describe('C1: before a container is created', () => {
  const create = { kind: 'create', stop: [], remove: [], attempt: undefined };
  test.each([
    ['no container: the number follows from the log directory', [], undefined, create],
    ['no container after a tried attempt: the same number again', [], 3, { ...create, attempt: 3 }],
    ['containers of other names do not matter', [record('b', 'running')], undefined, create],
    ['a running container is kept', [record('a', 'running')], undefined, { kind: 'running', id: 'a-0' }],
    [
      'a running container beside one that never started is kept',
      [record('a', 'created', { restartCount: 1 }), record('a', 'running')],
      undefined,
      { kind: 'running', id: 'a-0' },
    ],
    [
      'a container that never started is removed, and its number is used again',
      [record('a', 'created')],
      undefined,
      { ...create, remove: [{ id: 'a-0', restartCount: 0 }], attempt: 0 },
    ],
    [
      'a container whose start was aborted is removed and marked as such',
      [{ ...record('a', 'created'), startOver: true }],
      undefined,
      { ...create, remove: [{ id: 'a-0', restartCount: 0, startOver: true }], attempt: 0 },
    ],
    [
      'C2: a container that never started is removed, even if no earlier one exists, and its number is used again',
      [record('a', 'created', { restartCount: 3 })],
      undefined,
      { ...create, remove: [{ id: 'a-3', restartCount: 3 }], attempt: 3 },
    ],
    [
      'a container that cannot be removed and was given up is kept',
      [record('a', 'created', { restartCount: 2 }), record('a', 'exited', { restartCount: 1 })],
      3,
      { ...create, attempt: 3 },
    ],
    [
      'a container that never started after two that ran is removed, and its number is used again',
      [record('a', 'created', { restartCount: 2 }), record('a', 'exited', { restartCount: 1 }), record('a', 'exited')],
      2,
      { ...create, remove: [{ id: 'a-2', restartCount: 2 }], attempt: 2 },
    ],
    [
      'after an exited container the next number is used',
      [record('a', 'exited', { restartCount: 4 })],
      undefined,
      { ...create, attempt: 5 },
    ],
    [
      'after a container that exited since the tried attempt the next number is used',
      [record('a', 'exited', { restartCount: 4 })],
      2,
      { ...create, attempt: 5 },
    ],
    [
      'a container in an unknown state is stopped first',
      [record('a', 'unknown')],
      undefined,
      { ...create, stop: ['a-0'], attempt: 1 },
    ],
  ] as const)(
    'C1: beforeCreate lets no second container of a name run, and chooses the attempt number: %s',
    (_name, containers, tried, expected) => {
      expect(beforeCreate(containers, 'a', tried)).toEqual(expected);
    },
  );

  test('C1: no container is created beside a running one, and its number is above all earlier runs', () => {
    const arbitrary = fc.array(
      fc.record({
        state: fc.constantFrom('created' as const, 'running' as const, 'exited' as const, 'unknown' as const),
        restartCount: fc.nat(9),
        name: fc.constantFrom('a', 'b'),
      }),
    );
    fc.assert(
      fc.property(arbitrary, fc.option(fc.nat(9), { nil: undefined }), (specs, tried) => {
        const records = specs.map(({ name, state, restartCount }, n) =>
          record(name, state, { restartCount, id: `${name}-${n}` }),
        );
        const same = records.filter(({ name }) => name === 'a');
        const plan = beforeCreate(records, 'a', tried);
        expect(plan.kind === 'running').toBe(same.some(({ state }) => state === 'running'));
        if (plan.kind === 'running') return;
        const settled = new Set([...plan.stop, ...plan.remove.map(({ id }) => id)]);
        for (const { id, state, restartCount } of same) {
          const givenUp = state === 'created' && restartCount < (tried ?? 0);
          if (state !== 'exited' && !givenUp) expect(settled).toContain(id);
          if (state !== 'created') expect(plan.attempt).toBeGreaterThan(restartCount);
        }
      }),
    );
  });
});

describe('attempt numbers that were tried', () => {
  const lost = new CriError({
    rpc: 'CreateContainer',
    code: 'DEADLINE_EXCEEDED',
    details: 'context deadline exceeded',
  });
  const details =
    'failed to reserve container name "a_web_default_uid_0": name "a_web_default_uid_0" is reserved for "f00"';
  const taken = new CriError({ rpc: 'CreateContainer', code: 'UNKNOWN', details });

  test('recognises each form in which a runtime reports a container name that is already in use', () => {
    expect(isNameTaken(taken)).toBe(true);
    expect(isNameTaken(new CriError({ rpc: '', code: 'ALREADY_EXISTS', details: '' }))).toBe(true);
    expect(
      isNameTaken(
        new CriError({
          rpc: '',
          code: 'UNKNOWN',
          details: 'error reserving pod name k8s_x for id 1: name is reserved',
        }),
      ),
    ).toBe(true);
    expect(isNameTaken(lost)).toBe(false);
    const before = 'id 1 is reserved for a container without a name';
    expect(isNameTaken(new CriError({ rpc: '', code: 'UNKNOWN', details: before }))).toBe(false);
  });

  // If parsing took quadratic time, the test would exceed its timeout.
  test('W3: parses a long error message with many container names in linear time', () => {
    const profile = `cannot load seccomp profile "/seccomp/${'name '.repeat(100_000)}": no such file or directory`;
    expect(isNameTaken(new CriError({ rpc: 'CreateContainer', code: 'UNKNOWN', details: profile }))).toBe(false);
  });

  test('C1: keeps the attempt number of a creation with a lost response until the creation succeeds', () => {
    const tried = new TriedAttempts({ clock: new FakeClock() });
    tried.failed('uid', 'a', 3, lost);
    expect(tried.get('uid', 'a')).toBe(3);
    expect(tried.get('uid', 'b')).toBeUndefined();
    tried.succeeded('uid', 'a');
    expect(tried.get('uid', 'a')).toBeUndefined();
  });

  test('gives up a container name only after it has been in use for five minutes', async () => {
    const clock = new FakeClock();
    const tried = new TriedAttempts({ clock });
    tried.failed('uid', 'a', 0, taken);
    await clock.advance(299_000);
    tried.failed('uid', 'a', 0, taken);
    expect(tried.get('uid', 'a')).toBe(0);
    await clock.advance(1_000);
    tried.failed('uid', 'a', 0, taken);
    expect(tried.get('uid', 'a')).toBe(1);
  });

  test('retries soon after a container name was first found in use, but not later', async () => {
    const clock = new FakeClock();
    const tried = new TriedAttempts({ clock });
    tried.failed('uid', '', 0, lost);
    expect(tried.retryAtMs('uid', '')).toBeUndefined();
    tried.failed('uid', '', 0, taken);
    expect(tried.retryAtMs('uid', '')).toBe(1_000);
    await clock.advance(10_000);
    tried.failed('uid', '', 0, taken);
    expect(tried.retryAtMs('uid', '')).toBeUndefined();
  });

  test('forgets the tried attempt numbers of a removed pod', () => {
    const tried = new TriedAttempts({ clock: new FakeClock() });
    tried.failed('uid', 'a', 1, lost);
    tried.failed('uid2', 'a', 2, lost);
    tried.forget('uid');
    expect([tried.get('uid', 'a'), tried.get('uid2', 'a')]).toEqual([undefined, 2]);
  });
});
