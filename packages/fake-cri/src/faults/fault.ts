import type { ContainerEventResponse, CriErrorCode } from '@node-agent/cri-client';
import type { RpcName } from '../core/rpcs.ts';

/** Kind of an unusable response. */
export type Nonsense =
  /** The response has no fields. */
  | 'empty'
  /** All `metadata` fields are missing. */
  | 'noMetadata'
  /** All `state` fields have a number that CRI does not define. */
  | 'unknownState'
  /** All ids are empty strings. */
  | 'noIds'
  /** All maps of labels and annotations are empty. */
  | 'noLabels';

/** A fault of a call. */
export type RpcFault =
  /** The call is rejected before the runtime does anything. */
  | { readonly kind: 'error'; readonly code: CriErrorCode; readonly message?: string }
  /** The call starts after `delayMs`. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /**
   * The runtime does nothing. The call ends when its caller aborts, or with `DEADLINE_EXCEEDED` after `timeoutMs`
   * (default: 2 min).
   */
  | { readonly kind: 'hang'; readonly timeoutMs?: number }
  /**
   * The caller gets `DEADLINE_EXCEEDED` after `timeoutMs` (default: 0). The runtime starts the work after `workDelayMs`
   * (default: 0) and completes it.
   */
  | { readonly kind: 'lateSuccess'; readonly timeoutMs?: number; readonly workDelayMs?: number }
  /**
   * The runtime completes the work, but the caller gets this error code (default: `UNAVAILABLE`) in place of the
   * response.
   */
  | { readonly kind: 'answerLost'; readonly code?: CriErrorCode }
  | { readonly kind: 'nonsense'; readonly nonsense: Nonsense };

/** A fault of a container event. */
export type EventFault =
  | { readonly kind: 'drop' }
  | { readonly kind: 'duplicate' }
  /** The event is delivered after `delayMs`. Later events may overtake it. */
  | { readonly kind: 'delay'; readonly delayMs: number };

/** Limits of how often a fault rule applies. */
export interface FaultLimits {
  /** Maximum number of calls or events that get the fault. Default: unlimited. */
  readonly times?: number;
  /** Number of matching calls or events that the rule skips before it applies. Default: 0. */
  readonly skip?: number;
}

/** A rule for faults of calls. */
export interface RpcFaultRule extends FaultLimits {
  /** One RPC, several RPCs, or all RPCs (`*`). */
  readonly rpc: RpcName | readonly RpcName[] | '*';
  /** If set, the rule applies only to calls for whose decoded request this function returns true. */
  readonly when?: (request: object, rpc: RpcName) => boolean;
  readonly fault: RpcFault;
}

/** A rule for faults of container events. */
export interface EventFaultRule extends FaultLimits {
  readonly event: '*' | 'created' | 'started' | 'stopped' | 'deleted';
  readonly when?: (event: ContainerEventResponse) => boolean;
  readonly fault: EventFault;
}
