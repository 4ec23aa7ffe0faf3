import { isTooLargeVersion, type KubeError } from './errors.ts';
import type { ListOptions, WatchOptions } from './query.ts';
import { compareResourceVersions } from './resource-version.ts';

/** What a reflector does at a time: a plain list, a list as the beginning of a watch (KEP-3157), or a watch. */
export type ReflectorPhase = 'list' | 'streamingList' | 'watch';

/** What a reflector remembers from one request to the next. */
export interface ReflectorState {
  /** The newest resource version seen; empty before the first. */
  readonly resourceVersion: string;
  /** The server does not have that version (any longer, or yet): the next list must not name it. */
  readonly versionUnavailable: boolean;
  /** `off`: the server refused streaming lists. `skip`: one failed, so that the next list is a plain one. */
  readonly streaming: 'on' | 'skip' | 'off';
  /** The server paginated a list that it could have served from its cache: it has no cache of this resource. */
  readonly paginated: boolean;
  /** The server sends bookmarks, so that a long silence means a hung watch. */
  readonly bookmarkSeen: boolean;
  /** A watch broke and was taken up where it was, and nothing has come of it yet: the server may be one that lost its past. */
  readonly unheard: boolean;
}

/** Before the first request. */
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

/** What to do after a request has ended. */
export interface Reaction {
  readonly next: 'list' | 'watch';
  readonly state: ReflectorState;
  /** Whether the reflector's back-off comes before it. */
  readonly backOff: boolean;
  /** The wait is at least this long: the server asked for it. */
  readonly atLeastMs: number;
}

/** How a request ended, besides its error. */
export interface PhaseEnd {
  readonly phase: ReflectorPhase;
  /** The server has begun to answer the watch. */
  readonly opened: boolean;
  /** How long it took, in milliseconds. */
  readonly lastedMs: number;
  /** How many events came. */
  readonly events: number;
}

/** A watch that lasted less is a fault (client-go's VeryShortWatchError), also where it said something: each would cost a request. */
const SHORT_WATCH_MS = 1000;

/**
 * A watch that the server ended in good order goes on where it ended; one that was very short does so after a back-off. A watch that
 * was taken up and of which nothing ever came is listed anew: it may be of a server that does not know the version.
 */
export function afterCleanEnd(end: PhaseEnd, state: ReflectorState): Reaction {
  const said = end.events > 0;
  const short = end.lastedMs < SHORT_WATCH_MS;
  const next = state.unheard && !said && !short ? 'list' : 'watch';
  return { next, state, backOff: short, atLeastMs: 0 };
}

/**
 * What follows a failure (after `tools/cache/reflector.go`): a version that is expired, or that the server does not have, is listed anew; a
 * watch that broke or was refused for now is taken up where it was; a server that is busy is asked for the same again, later; one that has
 * no streaming lists is asked for plain ones.
 */
export function afterFailure(end: PhaseEnd, error: KubeError, state: ReflectorState): Reaction {
  const reaction: Reaction = { next: 'list', state, backOff: true, atLeastMs: error.retryAfterMs ?? 0 };
  if (end.phase === 'watch') return afterWatchFailure(end, error, reaction);
  if (isExpired(error) || isTooLargeVersion(error)) {
    // Once at once: a second failure of that kind, with no version named, is the server's trouble.
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
 * A watch that broke goes on from the version that was seen last: five thousand nodes whose API server restarts must not list all
 * at once. A server that came back without its past says nothing at all to a version of its future: where nothing has come of a watch
 * that was taken up, not even a bookmark, all is listed (client-go waits there until the versions have caught up).
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

/** After a list or the initial events of a stream. */
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
 * After an event of a watch. `undefined` where its version is older than one that was seen: the server has lost its past (an
 * etcd that was wiped or restored), and all must be listed anew.
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

/** What a list asks for: the first may come from the server's cache, a later one may not go back in time. */
export function listQuery(state: ReflectorState): Pick<ListOptions, 'resourceVersion'> {
  if (state.versionUnavailable) return { resourceVersion: '' };
  return { resourceVersion: state.resourceVersion === '' ? '0' : state.resourceVersion };
}

/** Whether a list is made in pages; where the server can serve it whole from its cache, it is not. */
export function isPaged(state: ReflectorState, resourceVersion: string | undefined): boolean {
  return state.paginated || resourceVersion === '' || resourceVersion === '0';
}

/** What a streaming list asks for: no version (the newest), or none older than the last one seen. */
export function streamingListQuery(state: ReflectorState, timeoutSeconds: number): WatchOptions {
  return {
    resourceVersion: state.versionUnavailable ? '' : state.resourceVersion,
    resourceVersionMatch: 'NotOlderThan',
    sendInitialEvents: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
  };
}

/** What a watch asks for. */
export function watchQuery(state: ReflectorState, timeoutSeconds: number): WatchOptions {
  return { resourceVersion: state.resourceVersion, allowWatchBookmarks: true, timeoutSeconds };
}

/** The limits of a watch's silence, in milliseconds. */
export interface IdleLimits {
  /** Until the headers, and between the initial events of a streaming list. */
  readonly initialMs: number;
  /** Where the server is known to send bookmarks, which it does once a minute. */
  readonly idleMs: number;
  /** Beyond the instant at which the server should have ended the watch. */
  readonly graceMs: number;
}

/**
 * How long a watch may be silent before it is taken for hung. Bookmarks are asked for, and every server of today sends them: one of
 * which none has come yet is given twice as long, and no more than its own time-out.
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

/** Failures of a watch that say nothing about its version: of the way to the server, or of a server that is not ready. */
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

/** What servers answer that do not have `sendInitialEvents`, or have it off. */
function isStreamingRefused(error: KubeError): boolean {
  return ['Invalid', 'BadRequest', 'MethodNotAllowed', 'NotAcceptable'].includes(error.code);
}
