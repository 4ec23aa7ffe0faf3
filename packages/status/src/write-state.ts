import type { Pod } from '@node-agent/pod-spec';
import type { Written } from './write-rules.ts';

/** What is known of the writes of one pod. */
export interface WriteState {
  /** What the API has; also what it need not get any more, because the pod is gone there. */
  written: Written | undefined;
  /** What the last write answered, until the watch has caught up with it. */
  answer: Pod | undefined;
  /** The reading and the status that were found to agree last: they need not be compared again. */
  agreed: { readonly reading: Pod; readonly version: number; readonly mayRun: boolean } | undefined;
  /** Since when something waits to be written, by the monotonic clock. */
  changedAtMs: number | undefined;
  running: boolean;
  /** There is news since the running write began. */
  again: boolean;
  failures: number;
  /** Nothing but this node's own state is waited for; the API need not be asked meanwhile. */
  waitsFor: 'containers' | 'resources' | undefined;
  deleted: boolean;
  /** The UID of an object that the API has let go: nothing is written to it unless the watch shows it. */
  goneUid: string | undefined;
  /** The UID of a mirror pod that cannot show the pod any more, and is to be made anew: nothing is written to it. */
  unfitUid: string | undefined;
}

/** Of a pod that was never written. */
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
