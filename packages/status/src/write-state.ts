import type { Pod } from '@node-agent/pod-spec';
import type { Written } from './write-rules.ts';

/** State of the status writes of one pod. */
export interface WriteState {
  /** Last version that the API has, or that need not be written because the pod is gone in the API. */
  written: Written | undefined;
  /** Pod returned by the last write, until the watch has caught up. */
  answer: Pod | undefined;
  /** Object and status version that were last compared and found equal, so they need not be compared again. */
  agreed: { readonly reading: Pod; readonly version: number; readonly mayRun: boolean } | undefined;
  /** Since when a change waits to be written, by the monotonic clock. */
  changedAtMs: number | undefined;
  running: boolean;
  /** Whether something changed since the running write started. */
  again: boolean;
  failures: number;
  /** Set if the next action depends only on this node's own state; the API is not queried until then. */
  waitsFor: 'containers' | 'resources' | undefined;
  deleted: boolean;
  /** UID of an object that is gone from the API. Nothing is written to it unless the watch shows it. */
  goneUid: string | undefined;
  /** UID of a mirror pod that cannot show the pod's status any more and will be recreated. Nothing is written to it. */
  unfitUid: string | undefined;
}

/** Returns the state of a pod whose status was never written. */
export function newWriteState(): WriteState {
  return {
    written: undefined,
    answer: undefined,
    agreed: undefined,
    changedAtMs: undefined,
    running: false,
    again: false,
    failures: 0,
    waitsFor: undefined,
    deleted: false,
    goneUid: undefined,
    unfitUid: undefined,
  };
}
