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
    ['nothing is there: as the log directory says', [], undefined, create],
    ['nothing is there, but a try was made: the same number again', [], 3, { ...create, attempt: 3 }],
    ['containers of other names do not matter', [record('b', 'running')], undefined, create],
    ['one runs: it is kept', [record('a', 'running')], undefined, { kind: 'running', id: 'a-0' }],
    [
      'one runs beside one that never started: it is kept',
      [record('a', 'created', { restartCount: 1 }), record('a', 'running')],
      undefined,
      { kind: 'running', id: 'a-0' },
    ],
    [
      'one never started: it goes, its number comes again',
      [record('a', 'created')],
      undefined,
      { ...create, remove: [{ id: 'a-0', restartCount: 0 }], attempt: 0 },
    ],
    [
      'the start of one was broken off and is over: it is told so',
      [{ ...record('a', 'created'), startOver: true }],
      undefined,
      { ...create, remove: [{ id: 'a-0', restartCount: 0, startOver: true }], attempt: 0 },
    ],
    [
      'C2: one never started, and nothing is left of those that ran before: its number comes again',
      [record('a', 'created', { restartCount: 3 })],
      undefined,
      { ...create, remove: [{ id: 'a-3', restartCount: 3 }], attempt: 3 },
    ],
    [
      'one that would not go was given up: it stays',
      [record('a', 'created', { restartCount: 2 }), record('a', 'exited', { restartCount: 1 })],
      3,
      { ...create, attempt: 3 },
    ],
    [
      'one never started after two that ran: it goes, its number comes again',
      [record('a', 'created', { restartCount: 2 }), record('a', 'exited', { restartCount: 1 }), record('a', 'exited')],
      2,
      { ...create, remove: [{ id: 'a-2', restartCount: 2 }], attempt: 2 },
    ],
    ['one ended: the next number', [record('a', 'exited', { restartCount: 4 })], undefined, { ...create, attempt: 5 }],
    [
      'one ended since the try: the next number all the same',
      [record('a', 'exited', { restartCount: 4 })],
      2,
      { ...create, attempt: 5 },
    ],
    [
      'nobody knows whether one runs: it is stopped first',
      [record('a', 'unknown')],
      undefined,
      { ...create, stop: ['a-0'], attempt: 1 },
    ],
  ] as const)('%s', (_name, containers, tried, expected) => {
    expect(beforeCreate(containers, 'a', tried)).toEqual(expected);
  });

  test('creates nothing beside a running container, with a number above all earlier runs', () => {
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

describe('tried attempts', () => {
  const lost = new CriError({
    rpc: 'CreateContainer',
    code: 'DEADLINE_EXCEEDED',
    details: 'context deadline exceeded',
  });
  const details =
    'failed to reserve container name "a_web_default_uid_0": name "a_web_default_uid_0" is reserved for "f00"';
  const taken = new CriError({ rpc: 'CreateContainer', code: 'UNKNOWN', details });

  test('recognize each form in which a runtime reports a taken name', () => {
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

  // By the square of their number it would take longer than a test may.
  test('W3: parse a long message with many names in linear time', () => {
    const profile = `cannot load seccomp profile "/seccomp/${'name '.repeat(100_000)}": no such file or directory`;
    expect(isNameTaken(new CriError({ rpc: 'CreateContainer', code: 'UNKNOWN', details: profile }))).toBe(false);
  });

  test('C1: keep the number of a call with a lost response until it succeeds', () => {
    const tried = new TriedAttempts({ clock: new FakeClock() });
    tried.failed('uid', 'a', 3, lost);
    expect(tried.get('uid', 'a')).toBe(3);
    expect(tried.get('uid', 'b')).toBeUndefined();
    tried.succeeded('uid', 'a');
    expect(tried.get('uid', 'a')).toBeUndefined();
  });

  test('give up a name only after it has been taken for five minutes', async () => {
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

  test('retry soon after a name was first found taken, but not later', async () => {
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

  test('forget a pod that is gone', () => {
    const tried = new TriedAttempts({ clock: new FakeClock() });
    tried.failed('uid', 'a', 1, lost);
    tried.failed('uid2', 'a', 2, lost);
    tried.forget('uid');
    expect([tried.get('uid', 'a'), tried.get('uid2', 'a')]).toEqual([undefined, 2]);
  });
});
