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

test('the initial state has no resource version, and streaming lists only if enabled', () => {
  const beginning = { ...state, resourceVersion: '' };
  expect(rules.initialState(true)).toEqual(beginning);
  expect(rules.initialState(false)).toEqual({ ...beginning, streaming: 'off' });
});

describe('next step after a failed request', () => {
  test.each<[string, rules.PhaseEnd, KubeError, Partial<rules.ReflectorState>, rules.Reaction]>([
    [
      'a watch of a server that is not ready is resumed',
      end('watch'),
      failure('Timeout'),
      {},
      { next: 'watch', state: { ...state, unheard: true }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a too large version of a short watch leads to a list after a back-off',
      end('watch', { lastedMs: 999 }),
      tooLarge,
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: true, atLeastMs: 9 },
    ],
    [
      'a watch that is silent after an event is resumed',
      end('watch', { events: 1 }),
      failure('DeadlineExceeded'),
      { unheard: true },
      { next: 'watch', state: { ...state, unheard: true }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a resumed watch whose connection breaks is resumed again without back-off',
      end('watch'),
      failure('ConnectionFailed'),
      { unheard: true },
      { next: 'watch', state: { ...state, unheard: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'a too large version of a list leads to a list of the newest version',
      end('list'),
      tooLarge,
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'a too large version of a list without a version leads to a list after a back-off',
      end('list'),
      tooLarge,
      { versionUnavailable: true },
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: true, atLeastMs: 9 },
    ],
    [
      'a replaced connection of a list keeps streaming lists off',
      end('list'),
      failure('ConnectionReplaced'),
      { streaming: 'off' },
      { next: 'list', state: { ...state, streaming: 'off' }, backOff: true, atLeastMs: 0 },
    ],
    [
      'a replaced connection of a fallback list turns streaming lists on again',
      end('list'),
      failure('ConnectionReplaced'),
      { streaming: 'skip' },
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    [
      'a version of a list that is gone leads to a list of the newest version',
      end('list'),
      failure('Gone'),
      {},
      { next: 'list', state: { ...state, versionUnavailable: true }, backOff: false, atLeastMs: 0 },
    ],
    [
      'a forbidden streaming list keeps streaming lists on',
      end('streamingList'),
      failure('Forbidden'),
      {},
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    [
      'an invalid plain list keeps streaming lists on',
      end('list'),
      failure('BadRequest'),
      {},
      { next: 'list', state, backOff: true, atLeastMs: 0 },
    ],
    ...(['Invalid', 'BadRequest', 'MethodNotAllowed', 'NotAcceptable'] as const).map(
      (code): [string, rules.PhaseEnd, KubeError, Partial<rules.ReflectorState>, rules.Reaction] => [
        `a streaming list that is refused as ${code} turns streaming lists off`,
        end('streamingList'),
        failure(code),
        {},
        { next: 'list', state: { ...state, streaming: 'off' }, backOff: false, atLeastMs: 0 },
      ],
    ),
  ])('next step after a failure: %s', (_what, ended, error, more, reaction) => {
    expect(rules.afterFailure(ended, error, { ...state, ...more })).toEqual(reaction);
  });
});

test('a watch that lasted 1000 ms does not count as short and is resumed without back-off', () => {
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
])(
  'an event of version %j (bookmark: %j) changes the state by %j (undefined: list again)',
  (version, isBookmark, changes) => {
    const next = rules.afterEvent(version, isBookmark, { ...state, unheard: true });
    expect(next).toEqual(changes && { ...state, ...changes });
  },
);

test('later events and lists keep the known capabilities of the server', () => {
  expect(rules.afterEvent('6', false, { ...state, bookmarkSeen: true })).toMatchObject({ bookmarkSeen: true });
  expect(rules.afterListed('6', false, { ...state, paginated: true, unheard: true })).toEqual({
    ...{ ...state, resourceVersion: '6', paginated: true },
  });
  expect(rules.afterListed('6', false, state)).toEqual({ ...state, resourceVersion: '6' });
});

test('a list requests data no older than the last version seen, and requests pages if the server cannot use its cache', () => {
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
