import { FakeClock } from '@node-agent/async/testing';
import { describe, expect, test } from 'vitest';
import { surplusInitContainers } from '../src/actions/prune-rule.ts';
import { TerminationTurns } from '../src/kill/termination-turns.ts';
import { restartCountFromLogs } from '../src/reconcile/container-files.ts';
import { LastErrors } from '../src/reconcile/last-errors.ts';
import { SyncResults } from '../src/reconcile/sync-result.ts';
import { container, pod, record } from './builders.ts';

test.each([
  [[], 0],
  [['0.log'], 1],
  [['0.log', '3.log', '2.log.20260101-000000.gz'], 4],
  [['7.log.20260101-000000'], 8],
  [['x.log', '9.txt', '12', '5.logs'], 0],
  [['99999999999999999999.log'], 0],
])('from the log files %j, the number of earlier starts is %d', (names, expected) => {
  expect(restartCountFromLogs(names)).toBe(expected);
});

describe('C3: surplus records of init containers', () => {
  const web = pod({ initContainers: [container('i'), container('j')] });
  const records = [
    record('i', 'exited', { restartCount: 2 }),
    record('i', 'unknown', { restartCount: 1 }),
    record('i', 'running', { restartCount: 0 }),
    record('j', 'exited'),
    record('app', 'exited'),
  ];
  test('C3: surplus records of init containers exclude the newest exited one of each', () => {
    expect(surplusInitContainers(web, records, false).map(({ id }) => id)).toEqual(['i-1']);
  });
  test('C3: surplus records of init containers include all in a new sandbox', () => {
    expect(surplusInitContainers(web, records, true).map(({ id }) => id)).toEqual(['i-2', 'i-1', 'i-0', 'j-0']);
  });
});

describe('SyncResults', () => {
  test('SyncResults returns one error that names all failures', () => {
    const results = new SyncResults();
    results.add('StartContainer', 'a', { reason: 'ErrImagePull', message: 'no "such" image' });
    results.add('StartContainer', 'b');
    results.add('StartContainer', 'c', { reason: 'CrashLoopBackOff', message: 'wait', retryAtMs: 5 });
    expect(results.done().error?.message).toBe(
      '[failed to "StartContainer" for "a" with ErrImagePull: "no \\"such\\" image", failed to "StartContainer" for "c" with CrashLoopBackOff: "wait"]',
    );
    expect(results.done().error?.retryAtMs).toBeUndefined();
  });

  test('SyncResults returns the earliest retry time if all failures are back-offs, and none if the sync itself failed too', () => {
    const results = new SyncResults();
    results.add('StartContainer', 'a', { reason: 'CrashLoopBackOff', message: '', retryAtMs: 90 });
    results.add('StartContainer', 'b', { reason: 'ImagePullBackOff', message: '', retryAtMs: 70 });
    expect(results.done().error?.retryAtMs).toBe(70);
    results.fail(new Error('and more'));
    expect(results.done().error?.retryAtMs).toBeUndefined();
    expect(results.done().error?.message).toContain('failed to SyncPod: and more');
  });

  test('SyncResults returns no error without failures', () => {
    const results = new SyncResults();
    results.add('KillContainer', 'a');
    expect(results.done()).toEqual({ results: [{ action: 'KillContainer', target: 'a' }] });
  });
});

test('LastErrors keeps the errors of the last start, at most a thousand', () => {
  const errors = new LastErrors();
  const failure = { reason: 'ErrImagePull', message: 'no' };
  for (let n = 0; n < 1_100; n++) {
    errors.update(`uid-${n}`, { results: [{ action: 'StartContainer', target: 'a', error: failure }] });
  }
  expect(errors.get('uid-99', 'a')).toBeUndefined();
  expect(errors.get('uid-100', 'a')).toBe(failure);
  errors.update('uid-200', { results: [{ action: 'StartContainer', target: 'a' }] });
  expect(errors.get('uid-200', 'a')).toBeUndefined();
  errors.update('uid-300', { results: [{ action: 'KillContainer', target: 'a' }] });
  expect(errors.get('uid-300', 'a')).toBe(failure);
  errors.forget('uid-300');
  expect(errors.get('uid-300', 'a')).toBeUndefined();
});

test('C4: waiting for the turn of a sidecar ends at the time limit or on abort', async () => {
  const clock = new FakeClock();
  const turns = new TerminationTurns({ clock }, new Map([['s', ['a', 'b']]]));
  const signal = new AbortController();
  let came = 0;
  const waiting = turns.wait('s', 1_000, signal.signal).then(() => came++);
  turns.ended('a');
  await clock.advance(999);
  expect(came).toBe(0);
  await clock.advance(1);
  await waiting;
  const failing = turns.wait('s', 1_000, signal.signal);
  turns.failed('b');
  await expect(failing).rejects.toThrow('container b, which stops first, could not be stopped');
  await expect(turns.wait('s', 1_000, signal.signal)).rejects.toThrow('container b');
  const other = new TerminationTurns({ clock }, new Map([['s', ['a', 'b']]]));
  const aborted = other.wait('s', 1_000, signal.signal);
  signal.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  other.ended('a');
  other.ended('b');
  await other.wait('s', 1_000, new AbortController().signal);
  expect(clock.pendingTimers).toBe(0);
});
