import { isTooLargeVersion, type KubeError } from './errors.ts';
import type { ListOptions, WatchOptions } from './query.ts';
import { compareResourceVersions } from './resource-version.ts';

/**
 * The current operation of a reflector: a plain list, a streaming list (KEP-3157: the start of a watch), or a watch.
 */
export type ReflectorPhase = 'list' | 'streamingList' | 'watch';

/** The state that a reflector keeps between requests. */
export interface ReflectorState {
  /** The newest resource version seen. Empty before the first list. */
  readonly resourceVersion: string;
  /**
   * Whether the server does not have `resourceVersion` (no longer, or not yet). If true, the next list must not request
   * that version.
   */
  readonly versionUnavailable: boolean;
  /**
   * Whether the next list is a streaming list. `off`: never, the server does not support streaming lists. `skip`: not
   * this time, because a streaming list failed.
   */
  readonly streaming: 'on' | 'skip' | 'off';
  /** Whether the server has no cache for this resource: it paginated a list that a cache would have returned whole. */
  readonly paginated: boolean;
  /** Whether the server has sent a bookmark. From then on, a long silence means that the watch hangs. */
  readonly bookmarkSeen: boolean;
  /**
   * Whether a watch broke, was resumed from its version, and has delivered nothing since. The server may have lost its
   * data.
   */
  readonly unheard: boolean;
}

/** Returns the state before the first request. */
export function initialState(streaming: boolean): ReflectorState {
  return {
    resourceVersion: '',
    versionUnavailable: false,
    streaming: streaming ? 'on' : 'off',
    paginated: false,
    bookmarkSeen: false,
    unheard: false,
  };
}

/** The next step of a reflector after a request has ended. */
export interface Reaction {
  readonly next: 'list' | 'watch';
  readonly state: ReflectorState;
  /** Whether to wait for the reflector's back-off before the next step. */
  readonly backOff: boolean;
  /**
   * The minimum wait before the next step, in milliseconds, as the server requested it. The value is 0 if the server
   * requested no wait.
   */
  readonly atLeastMs: number;
}

/** The way in which a request ended, apart from its error. */
export interface PhaseEnd {
  readonly phase: ReflectorPhase;
  /** Whether the server had started to respond to the watch. */
  readonly opened: boolean;
  /** The duration of the request, in milliseconds. */
  readonly lastedMs: number;
  /** The number of events received. */
  readonly events: number;
}

/**
 * A watch that ends sooner, in milliseconds, counts as a failure (client-go's VeryShortWatchError) even if it delivered
 * events: otherwise each event could cost a request.
 */
const SHORT_WATCH_MS = 1000;

/**
 * Returns the next step after the server ended a watch normally: the watch continues from its last version, after a
 * back-off if it was very short. If a resumed watch has delivered nothing at all, the collection is listed again,
 * because the server may not know the version.
 */
export function afterCleanEnd(end: PhaseEnd, state: ReflectorState): Reaction {
  const said = end.events > 0;
  const short = end.lastedMs < SHORT_WATCH_MS;
  const next = state.unheard && !said && !short ? 'list' : 'watch';
  return { next, state, backOff: short, atLeastMs: 0 };
}

/**
 * Returns the next step after a failure (after `tools/cache/reflector.go`):
 * - A version that is expired or that the server does not have: list again.
 * - A watch that broke or was temporarily refused: resume it from its version.
 * - A busy server: repeat the request later.
 * - A server without streaming lists: use plain lists.
 */
export function afterFailure(end: PhaseEnd, error: KubeError, state: ReflectorState): Reaction {
  const reaction: Reaction = { next: 'list', state, backOff: true, atLeastMs: error.retryAfterMs ?? 0 };
  if (end.phase === 'watch') return afterWatchFailure(end, error, reaction);
  if (isExpired(error) || isTooLargeVersion(error)) {
    // The first such failure is retried without delay. If it happens again although no version was requested, the
    // server has a problem, and the retry waits for the back-off.
    const backOff = state.versionUnavailable;
    return {
      ...reaction,
      state: { ...state, versionUnavailable: true },
      backOff,
      atLeastMs: backOff ? reaction.atLeastMs : 0,
    };
  }
  if (isUnreachable(error)) {
    return { ...reaction, state: { ...state, streaming: state.streaming === 'off' ? 'off' : 'on' } };
  }
  if (end.phase === 'list' || error.code === 'TooManyRequests') return reaction;
  if (error.code === 'Unauthorized' || error.code === 'Forbidden') return reaction;
  const streaming = isStreamingRefused(error) ? 'off' : 'skip';
  return { ...reaction, state: { ...state, streaming }, backOff: false };
}

/**
 * Resumes a watch that broke from the last version seen: 5,000 nodes must not all list at the same time when their API
 * server restarts. A server that lost its data sends nothing to a watch from a version in its future. So if a resumed
 * watch delivers nothing, not even a bookmark, the collection is listed again. (client-go instead waits until the
 * server's versions have caught up.)
 */
function afterWatchFailure(end: PhaseEnd, error: KubeError, reaction: Reaction): Reaction {
  const { state } = reaction;
  const short = end.lastedMs < SHORT_WATCH_MS;
  if (isExpired(error)) return { ...reaction, backOff: short };
  if (isTooLargeVersion(error)) return { ...reaction, state: { ...state, versionUnavailable: true }, backOff: short };
  if (!KEEPS_VERSION.has(error.code)) return reaction;
  if (error.code === 'DeadlineExceeded' && state.unheard && end.events === 0) return reaction;
  const resumed: Reaction = { ...reaction, next: 'watch', state: { ...state, unheard: true } };
  if (error.code === 'ConnectionReplaced') return { ...resumed, backOff: short };
  if (error.code === 'ConnectionFailed' && end.opened) return { ...resumed, backOff: short };
  return resumed;
}

/** Returns the state after a list or after the initial events of a streaming list. */
export function afterListed(
  resourceVersion: string,
  paginatedFromCache: boolean,
  state: ReflectorState,
): ReflectorState {
  return {
    ...state,
    resourceVersion,
    versionUnavailable: false,
    unheard: false,
    streaming: state.streaming === 'skip' ? 'on' : state.streaming,
    paginated: state.paginated || paginatedFromCache,
  };
}

/**
 * Returns the state after an event of a watch. Returns `undefined` if the event's version is older than one already
 * seen: the server lost data (etcd was wiped or restored), so the collection must be listed again.
 */
export function afterEvent(
  resourceVersion: string,
  isBookmark: boolean,
  state: ReflectorState,
): ReflectorState | undefined {
  const bookmarkSeen = state.bookmarkSeen || isBookmark;
  if (resourceVersion === '') return { ...state, bookmarkSeen };
  if ((compareResourceVersions(resourceVersion, state.resourceVersion) ?? 0) < 0) return undefined;
  return { ...state, resourceVersion, bookmarkSeen, unheard: false };
}

/**
 * Returns the version that a list requests: the first list may come from the server's cache; a later list must not
 * return older data.
 */
export function listQuery(state: ReflectorState): Pick<ListOptions, 'resourceVersion'> {
  if (state.versionUnavailable) return { resourceVersion: '' };
  return { resourceVersion: state.resourceVersion === '' ? '0' : state.resourceVersion };
}

/** Returns whether to list in pages. Pages are avoided if the server can serve the whole list from its cache. */
export function isPaged(state: ReflectorState, resourceVersion: string | undefined): boolean {
  return state.paginated || resourceVersion === '' || resourceVersion === '0';
}

/** Returns the query of a streaming list: no version (the newest), or at least the last version seen. */
export function streamingListQuery(state: ReflectorState, timeoutSeconds: number): WatchOptions {
  return {
    resourceVersion: state.versionUnavailable ? '' : state.resourceVersion,
    resourceVersionMatch: 'NotOlderThan',
    sendInitialEvents: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
  };
}

/** Returns the query of a watch. */
export function watchQuery(state: ReflectorState, timeoutSeconds: number): WatchOptions {
  return { resourceVersion: state.resourceVersion, allowWatchBookmarks: true, timeoutSeconds };
}

/** The limits of a watch's silence, in milliseconds. */
export interface IdleLimits {
  /** The limit until the response headers arrive, and between the initial events of a streaming list. */
  readonly initialMs: number;
  /** The limit if the server is known to send bookmarks, which it does once a minute. */
  readonly idleMs: number;
  /** The limit beyond the time at which the server should have ended the watch. */
  readonly graceMs: number;
}

/**
 * Returns how long a watch may be silent before it counts as hung. Bookmarks are requested, and all current servers
 * send them. A watch without a bookmark so far gets twice as long, but no longer than its own timeout plus the grace.
 */
export function idleLimitMs(
  { initialMs, idleMs, graceMs }: IdleLimits,
  watch: { readonly initial: boolean; readonly bookmarkSeen: boolean; readonly timeoutSeconds: number },
): number {
  if (watch.initial) return initialMs;
  return watch.bookmarkSeen ? idleMs : Math.min(2 * idleMs, watch.timeoutSeconds * 1000 + graceMs);
}

function isExpired(error: KubeError): boolean {
  return error.code === 'Expired' || error.code === 'Gone';
}

/**
 * The codes of watch failures after which the last resource version stays valid: the network failed, or the server is
 * not ready.
 */
const KEEPS_VERSION: ReadonlySet<string> = new Set([
  'ConnectionFailed',
  'ConnectionReplaced',
  'CredentialsUnavailable',
  'DeadlineExceeded',
  'ServerTimeout',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
]);

function isUnreachable(error: KubeError): boolean {
  return error.code === 'ConnectionFailed' || error.code === 'ConnectionReplaced';
}

/** Reports whether the error is one with which servers reject the unknown option `sendInitialEvents`. */
function isStreamingRefused(error: KubeError): boolean {
  return ['Invalid', 'BadRequest', 'MethodNotAllowed', 'NotAcceptable'].includes(error.code);
}
