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
  /** Monotonic time of the first change that has not been written yet; `undefined` if there is none. */
  changedAtMs: number | undefined;
  running: boolean;
  /** Whether the pod has changed since the write in progress started. */
  again: boolean;
  failures: number;
  /**
   * Event that the next action waits for: the stop of the containers, or the release of the pod's resources. Until
   * then, no request is sent to the API server.
   */
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
