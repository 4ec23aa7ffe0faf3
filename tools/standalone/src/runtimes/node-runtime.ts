import type { EndProgress } from '../end-pods.ts';
import type { SampleImage } from '../sample.ts';

/** Prints a line for the user. */
export type Say = (line: string) => void;

/** Container runtime of a run, ready for a kubelet. */
export interface NodeRuntime {
  /** CRI endpoint for the kubelet. */
  readonly endpoint: string;
  readonly image: SampleImage;
  /** Commands with which the user can inspect the runtime. The list is empty if no tool can inspect the runtime. */
  readonly lookAround: readonly string[];
  /**
   * Stops the pods of the run with their grace periods, then stops the parts of the runtime that belong to the run.
   * @param hurry aborted when the remaining containers must be killed without waiting for grace periods
   * @param progress called with the pods that are still being stopped
   */
  end(hurry: AbortSignal, progress?: EndProgress): Promise<void>;
}
