import type { EndProgress } from '../end-pods.ts';
import type { SampleImage } from '../sample.ts';

/** Says a line to whoever watches. */
export type Say = (line: string) => void;

/** The container runtime of a run, ready for a kubelet. */
export interface NodeRuntime {
  /** Where the kubelet reaches it. */
  readonly endpoint: string;
  readonly image: SampleImage;
  /** What a person runs to look into it; nothing where there is no such tool. */
  readonly lookAround: readonly string[];
  /**
   * Ends the pods of the run with their grace periods, then what of the runtime belongs to the run.
   * @param hurry aborted where nobody wants to wait for grace periods any longer
   * @param progress takes in which pods are still being ended
   */
  end(hurry: AbortSignal, progress?: EndProgress): Promise<void>;
}
