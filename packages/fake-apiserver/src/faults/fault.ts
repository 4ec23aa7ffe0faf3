/** What a request does, as the authorizer and the audit log name it. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** A request, as faults and the audit log see it. */
export interface RequestAttributes {
  /** In lower case the HTTP method, where the path is of no resource. */
  readonly verb: Verb | string;
  /** Without its query. */
  readonly path: string;
  readonly group: string;
  /** The plural name, with the subresource: `pods/status`. '' where the path is of no resource. */
  readonly resource: string;
  readonly namespace: string;
  /** '' of a collection; of a create, what the body says. */
  readonly name: string;
  readonly user: string;
}

/** What goes wrong with a watch: after so much time, or so many events; at once where neither is said. */
export interface WatchFault {
  readonly kind: /** The connection breaks. */
    | 'cut'
    /** The server ends it, as at its time-out. */
    | 'end'
    /** Nothing comes any more, and the connection stays. */
    | 'hang'
    /** An ERROR event: 410, Expired. */
    | 'expire'
    /** Half an event, then the connection breaks. */
    | 'garble';
  readonly afterMs?: number;
  readonly afterEvents?: number;
}

/** What goes wrong with a request. */
export type RequestFault =
  /** Begun only after `delayMs`. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /**
   * Refused before anything was done, with the Status of that code: 429 (with `retryAfterSeconds`, 1 by default), 500, 503,
   * 504, 401, 403, 409, 410, or any other. A `body` is sent as it is in place of the Status.
   */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
      readonly body?: string;
    }
  /** Nothing is done, and no answer comes before the caller gives up, or the connection breaks after `timeoutMs` (60 s). */
  | { readonly kind: 'hang'; readonly timeoutMs?: number }
  /** Nobody listens. */
  | { readonly kind: 'refuse' }
  /** The connection breaks before anything is done. */
  | { readonly kind: 'reset' }
  /** All is done, and the connection breaks in place of the answer. */
  | { readonly kind: 'answerLost' }
  /** All is done, and half the body comes; `clean`: as though that were all of it. */
  | { readonly kind: 'truncate'; readonly clean?: boolean }
  /** A read is answered from a state that is `revisionsBehind` writes old; other requests go on as they are. */
  | { readonly kind: 'stale'; readonly revisionsBehind: number }
  /** Of watches only. */
  | { readonly kind: 'watch'; readonly watch: WatchFault };

/** A fault, and whom it strikes. */
export interface FaultRule {
  /** One verb, several, or all (`*`, the default). */
  readonly verb?: Verb | readonly Verb[] | '*';
  /** `pods`, `pods/status`, several, or all (`*`, the default). */
  readonly resource?: string | readonly string[] | '*';
  readonly namespace?: string;
  readonly name?: string;
  /** Only requests that fit. */
  readonly when?: (request: RequestAttributes) => boolean;
  /** How often at most; without bound by default. */
  readonly times?: number;
  /** How many fitting requests go by before the first; 0 by default. */
  readonly skip?: number;
  readonly fault: RequestFault;
}
