import type { ContainerEventResponse, CriErrorCode } from '@node-agent/cri-client';
import type { RpcName } from '../core/rpcs.ts';

/** How an answer is made useless. */
export type Nonsense =
  /** An answer with nothing in it. */
  | 'empty'
  /** Every `metadata` is missing. */
  | 'noMetadata'
  /** Every `state` is a number that no runtime defines. */
  | 'unknownState'
  /** Every id is an empty string. */
  | 'noIds'
  /** Every map of labels and annotations is empty. */
  | 'noLabels';

/** What goes wrong with a call. */
export type RpcFault =
  /** Refused before anything was done. */
  | { readonly kind: 'error'; readonly code: CriErrorCode; readonly message?: string }
  /** Begun only after `delayMs`. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** Nothing is done; there is no answer before the caller gives up, or `DEADLINE_EXCEEDED` after `timeoutMs` (2 min). */
  | { readonly kind: 'hang'; readonly timeoutMs?: number }
  /**
   * The caller gets `DEADLINE_EXCEEDED` after `timeoutMs` (0); the runtime begins the work after `workDelayMs` (0), and
   * whatever becomes of the caller, does all of it.
   */
  | { readonly kind: 'lateSuccess'; readonly timeoutMs?: number; readonly workDelayMs?: number }
  /** All is done; the caller gets this code (`UNAVAILABLE`) in place of the answer. */
  | { readonly kind: 'answerLost'; readonly code?: CriErrorCode }
  | { readonly kind: 'nonsense'; readonly nonsense: Nonsense };

/** What goes wrong with a container event. */
export type EventFault =
  | { readonly kind: 'drop' }
  | { readonly kind: 'duplicate' }
  /** Delivered after `delayMs`; those behind it are not held back. */
  | { readonly kind: 'delay'; readonly delayMs: number };

/** When a fault strikes. */
export interface FaultLimits {
  /** How often at most; without bound by default. */
  readonly times?: number;
  /** How many fitting calls or events go by before the first; 0 by default. */
  readonly skip?: number;
}

/** A fault of calls. */
export interface RpcFaultRule extends FaultLimits {
  /** One RPC, several, or all of them (`*`). */
  readonly rpc: RpcName | readonly RpcName[] | '*';
  /** Only calls whose decoded request fits. */
  readonly when?: (request: object, rpc: RpcName) => boolean;
  readonly fault: RpcFault;
}

/** A fault of container events. */
export interface EventFaultRule extends FaultLimits {
  readonly event: '*' | 'created' | 'started' | 'stopped' | 'deleted';
  readonly when?: (event: ContainerEventResponse) => boolean;
  readonly fault: EventFault;
}
