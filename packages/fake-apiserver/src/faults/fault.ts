/** Verb of a request, as used by the authorizer and the audit log. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** Attributes of a request for fault rules and the audit log. */
export interface RequestAttributes {
  /** Verb of the request. For a path that is not a resource, the HTTP method in lower case. */
  readonly verb: Verb | string;
  /** Path without query. */
  readonly path: string;
  readonly group: string;
  /** Plural name with subresource: `pods/status`. '' if the path is not a resource. */
  readonly resource: string;
  readonly namespace: string;
  /** Name of the object; '' for a collection. For a create, the name in the body. */
  readonly name: string;
  readonly user: string;
}

/** A fault of a watch. The fault occurs after `afterMs` or `afterEvents`, or immediately if neither is set. */
export interface WatchFault {
  readonly kind: /** The connection breaks. */
    | 'cut'
    /** The server ends the watch, as at its timeout. */
    | 'end'
    /** No more events arrive, but the connection stays open. */
    | 'hang'
    /** The watch ends with an ERROR event: 410, Expired. */
    | 'expire'
    /** Half an event arrives, then the connection breaks. */
    | 'garble';
  readonly afterMs?: number;
  readonly afterEvents?: number;
}

/** A fault of a request. */
export type RequestFault =
  /** The request is handled after `delayMs`. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /**
   * The request is rejected before it is executed, with a Status of this code: 429 (with `retryAfterSeconds`, default
   * 1), 500, 503, 504, 401, 403, 409, 410, or any other. If `body` is set, it is sent in place of the Status.
   */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
      readonly body?: string;
    }
  /**
   * The server does nothing. The request ends when its caller gives up, or the connection breaks after `timeoutMs`
   * (default: 60 s).
   */
  | { readonly kind: 'hang'; readonly timeoutMs?: number }
  /** The connection is refused. */
  | { readonly kind: 'refuse' }
  /** The connection breaks before the request is executed. */
  | { readonly kind: 'reset' }
  /** The request is executed, but the connection breaks in place of the response. */
  | { readonly kind: 'answerLost' }
  /** The request is executed, but only half the response body arrives. With `clean`, the response looks complete. */
  | { readonly kind: 'truncate'; readonly clean?: boolean }
  /** A read returns a state that is `revisionsBehind` writes old. Other requests are not affected. */
  | { readonly kind: 'stale'; readonly revisionsBehind: number }
  /** The watch has a fault. Requests other than watches are not affected. */
  | { readonly kind: 'watch'; readonly watch: WatchFault };

/** A fault and the requests that it applies to. */
export interface FaultRule {
  /** Verbs of the requests that get the fault: one, several, or all (`*`, the default). */
  readonly verb?: Verb | readonly Verb[] | '*';
  /** Resources of the requests that get the fault: one (`pods`, `pods/status`), several, or all (`*`, the default). */
  readonly resource?: string | readonly string[] | '*';
  readonly namespace?: string;
  readonly name?: string;
  /** If set, the rule applies only to requests for which this function returns true. */
  readonly when?: (request: RequestAttributes) => boolean;
  /** Maximum number of requests that get the fault. Default: unlimited. */
  readonly times?: number;
  /** Number of matching requests that are served normally before the first request that gets the fault. Default: 0. */
  readonly skip?: number;
  readonly fault: RequestFault;
}
