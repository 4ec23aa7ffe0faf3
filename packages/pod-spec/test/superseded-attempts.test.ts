import { expect, test } from 'vitest';
import type { ContainerStatus, RuntimeContainerStatus } from '../src/index.ts';
import { withoutSupersededAttempts } from '../src/index.ts';

const record = (restartCount: number, state: RuntimeContainerStatus['state']): RuntimeContainerStatus => ({
  ...{ id: `c-${restartCount}`, name: 'c', state, restartCount, sandboxId: 's', hash: 'a' },
  ...{ createdAtMs: 1000, startedAtMs: 0, finishedAtMs: 0, exitCode: 0 },
  ...{ image: '', imageId: '', reason: '', message: '' },
});
const shown = (restartCount: number, rest: Partial<ContainerStatus>): ContainerStatus => ({
  ...{ name: 'c', image: '', imageID: '', ready: false, restartCount },
  ...rest,
});
const terminated = { terminated: { exitCode: 0 } };
const waitsAfterEnd = { state: { waiting: {} }, lastState: terminated };

test.each<[string, ContainerStatus, RuntimeContainerStatus, 'kept' | 'superseded']>([
  ['an unstarted attempt before a terminated one', shown(1, { state: terminated }), record(0, 'created'), 'superseded'],
  [
    'an unstarted attempt before one after which the container waits',
    shown(1, waitsAfterEnd),
    record(0, 'created'),
    'superseded',
  ],
  [
    'an unstarted attempt with the number of the terminated one',
    shown(1, { state: terminated }),
    record(1, 'created'),
    'kept',
  ],
  ['the next unstarted attempt', shown(1, { state: terminated }), record(2, 'created'), 'kept'],
  ['an attempt that ran', shown(1, { state: terminated }), record(0, 'exited'), 'kept'],
  ['an unstarted attempt of a container that runs', shown(1, { state: { running: {} } }), record(0, 'created'), 'kept'],
  [
    'an unstarted attempt of a container that has not run',
    shown(1, { state: { waiting: {} } }),
    record(0, 'created'),
    'kept',
  ],
  [
    'an unstarted attempt of another container',
    shown(1, { name: 'other', state: terminated }),
    record(0, 'created'),
    'kept',
  ],
])('C2, C3: %s is $3', (_, status, attempt, verdict) => {
  for (const kind of ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses']) {
    const { containers } = withoutSupersededAttempts({ [kind]: [status] }, { containers: [attempt] });
    expect(containers).toEqual(verdict === 'kept' ? [attempt] : []);
  }
});

test('all attempts are kept if the API has no status of the pod', () => {
  const status = { containers: [record(0, 'created')] };
  expect(withoutSupersededAttempts(undefined, status)).toBe(status);
});
