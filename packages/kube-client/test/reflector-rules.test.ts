import { describe, expect, test } from 'vitest';
import { KubeError } from '../src/errors.ts';
import * as rules from '../src/reflector-rules.ts';

const state: rules.ReflectorState = {
  resourceVersion: '5',
  versionUnavailable: false,
  streaming: 'on',
  paginated: false,
  bookmarkSeen: false,
  unheard: false,
};
type Code = ConstructorParameters<typeof KubeError>[0]['code'];
const failure = (code: Code, more: object = {}): KubeError => new KubeError({ code, message: code, ...more });
const tooLarge = failure('Timeout', { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] }, retryAfterMs: 9 });
const end = (phase: rules.ReflectorPhase, more: Partial<rules.PhaseEnd> = {}): rules.PhaseEnd => ({
  ...{ phase, opened: true, lastedMs: 1000, events: 0 },
  ...more,
});

test('a new reflector has seen no version', () => {
  const beginning = { ...state, resourceVersion: '' };
  expect(rules.initialState(true)).toEqual(beginning);
  expect(rules.initialState(false)).toEqual({ ...beginning, streaming: 'off' });
});

describe('after a failure', () => {
  test.each<[string, rules.PhaseEnd, KubeError, Partial<rules.ReflectorState>, rules.Reaction]>([
    [
      'a server that is not ready',
      end('watch'),
      failure('Timeout'),
      {},
      { next: 'watch', state: { ...state, unheard: true }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a version that a watch cannot have, soon',
      end('watch', { lastedMs: 999 }),
      tooLarge,
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: true, atLeastMs: 9 },
    ],
    [
      'silence after something had been said',
      end('watch', { events: 1 }),
      failure('DeadlineExceeded'),
      { unheard: true },
      { next: 'watch', state: { ...state, unheard: true }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a broken connection to a server that had not said anything before either',
      end('watch'),
      failure('ConnectionFailed'),
      { unheard: true },
      { next: 'watch', state: { ...state, unheard: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'a version that a list cannot have',
      end('list'),
      tooLarge,
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'the same again',
      end('list'),
      tooLarge,
      { versionUnavailable: true },
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: true, atLeastMs: 9 },
    ],
    [
      'a connection that was replaced under a list, where streams are off',
      end('list'),
      failure('ConnectionReplaced'),
      { streaming: 'off' },
      { next: 'list', state: { ...state, streaming: 'off' }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a connection that was replaced under a list that stood for a stream',
      end('list'),
      failure('ConnectionReplaced'),
      { streaming: 'skip' },
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    [
      'a version that is gone',
      end('list'),
      failure('Gone'),
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'a stream that may not be had by this user',
      end('streamingList'),
      failure('Forbidden'),
      {},
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    [
      'an invalid list, which does not show whether streaming lists are supported',
      end('list'),
      failure('BadRequest'),
      {},
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    ...(['Invalid', 'BadRequest', 'MethodNotAllowed', 'NotAcceptable'] as const).map(
      (code): [string, rules.PhaseEnd, KubeError, Partial<rules.ReflectorState>, rules.Reaction] => [
        `a stream that is refused as ${code}`,
        end('streamingList'),
        failure(code),
        {},
        { next: 'list', state: { ...state, streaming: 'off' }, backOff: false, atLeastMs: 0 },
      ],
    ),
  ])('%s', (_what, ended, error, more, reaction) => {
    expect(rules.afterFailure(ended, error, { ...state, ...more })).toEqual(reaction);
  });
});

test('a watch that lasted a second does not count as short', () => {
  expect(rules.afterCleanEnd(end('watch', { lastedMs: 999 }), { ...state, unheard: true })).toEqual({
    ...{ next: 'watch', state: { ...state, unheard: true }, backOff: true, atLeastMs: 0 },
  });
  expect(rules.afterCleanEnd(end('watch'), state)).toEqual({ next: 'watch', state, backOff: false, atLeastMs: 0 });
});

test.each<[string, boolean, Partial<rules.ReflectorState> | undefined]>([
  ['6', false, { resourceVersion: '6' }],
  ['6', true, { resourceVersion: '6', bookmarkSeen: true }],
  ['5', false, {}],
  ['4', false, undefined],
  ['', false, { unheard: true }],
  ['', true, { unheard: true, bookmarkSeen: true }],
  ['other', false, { resourceVersion: 'other' }],
])('an event of version %j (bookmark: %j) leads to %j', (version, isBookmark, changes) => {
  const next = rules.afterEvent(version, isBookmark, { ...state, unheard: true });
  expect(next).toEqual(changes && { ...state, ...changes });
});

test('the known capabilities of a server are kept', () => {
  expect(rules.afterEvent('6', false, { ...state, bookmarkSeen: true })).toMatchObject({ bookmarkSeen: true });
  expect(rules.afterListed('6', false, { ...state, paginated: true, unheard: true })).toEqual({
    ...{ ...state, resourceVersion: '6', paginated: true },
  });
  expect(rules.afterListed('6', false, state)).toEqual({ ...state, resourceVersion: '6' });
});

test('a list requests data no older than the last version seen, and is paged if the server reads its store anyway', () => {
  expect(rules.listQuery({ ...state, resourceVersion: '' })).toEqual({ resourceVersion: '0' });
  expect(rules.listQuery(state)).toEqual({ resourceVersion: '5' });
  expect(rules.listQuery({ ...state, versionUnavailable: true })).toEqual({ resourceVersion: '' });
  const paged = (version: string | undefined, more: Partial<rules.ReflectorState> = {}): boolean =>
    rules.isPaged({ ...state, ...more }, version);
  expect([paged(''), paged('0'), paged('5'), paged('5', { paginated: true }), paged(undefined)]).toEqual([
    ...[true, true, false, true, false],
  ]);
});

test('a watch requests bookmarks, and a streaming list also requests the initial events', () => {
  const watched = { resourceVersion: '5', allowWatchBookmarks: true, timeoutSeconds: 300 };
  expect(rules.watchQuery(state, 300)).toEqual(watched);
  const streamed = { ...watched, resourceVersionMatch: 'NotOlderThan', sendInitialEvents: true };
  expect(rules.streamingListQuery(state, 300)).toEqual(streamed);
  expect(rules.streamingListQuery({ ...state, versionUnavailable: true }, 300)).toEqual({
    ...{ ...streamed, resourceVersion: '' },
  });
});

test.each([
  [{ initial: true, bookmarkSeen: true, timeoutSeconds: 300 }, 1],
  [{ initial: false, bookmarkSeen: true, timeoutSeconds: 300 }, 90_000],
  [{ initial: false, bookmarkSeen: false, timeoutSeconds: 300 }, 180_000],
  [{ initial: false, bookmarkSeen: false, timeoutSeconds: 100 }, 100_020],
])('a watch of %j may be silent for %d ms', (watch, limitMs) => {
  expect(rules.idleLimitMs({ initialMs: 1, idleMs: 90_000, graceMs: 20 }, watch)).toBe(limitMs);
});
