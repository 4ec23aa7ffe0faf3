/**
 * State of one volume of one pod: the desired state of the world beside the actual state.
 *
 * | wanted    | presence          | node level | stale | step                                                      |
 * |-----------|-------------------|------------|-------|-----------------------------------------------------------|
 * | yes       | absent, uncertain | not staged | -     | have it staged, which the node level does                 |
 * | yes       | absent, uncertain | staged, none | -   | set it up                                                 |
 * | yes       | ready             | -          | yes   | set it up again, which updates its content                |
 * | yes       | ready             | -          | no    | expand it if a controller has expanded it, else nothing   |
 * | no        | ready, uncertain  | -          | -     | tear it down                                              |
 * | no        | absent            | -          | -     | forget it                                                 |
 * | not known | any               | -          | -     | nothing: found on disk, and its pod is not known yet      |
 *
 * No operation starts while another operation of the volume runs, or before the back-off of a failed one has passed. A
 * failed set-up changes the presence as `presenceAfterFailure` says; a ready volume whose update fails stays ready.
 * Source: `pkg/kubelet/volumemanager` (caches and reconciler).
 */
export interface VolumeState {
  /** Whether the pod wants the volume; `undefined` if that is not known yet. */
  readonly wanted: boolean | undefined;
  /** `uncertain`: a failed operation or a former process may have left a part of the volume. */
  readonly presence: 'absent' | 'uncertain' | 'ready';
  /** State of the node volume (`nextNodeVolumeStep`); `none` if the volume belongs to the pod alone. */
  readonly node: 'none' | 'notStaged' | 'staged';
  /** Whether the content may be out of date. */
  readonly stale: boolean;
  /** Whether a controller has expanded the volume and the node has not expanded it yet. Default: false. */
  readonly expands?: boolean;
  /** Whether an operation is in progress. */
  readonly busy: boolean;
  /** Monotonic time of the next retry after a failure. */
  readonly retryAtMs: number | undefined;
}

/** Next operation of a volume. */
export type VolumeStep = 'stage' | 'setUp' | 'expand' | 'tearDown' | 'forget' | 'wait' | 'none';

/** Implements the table of {@link VolumeState}. `wait` means: the next step is not due before `retryAtMs`. */
export function nextVolumeStep(state: VolumeState, nowMs: number): VolumeStep {
  if (state.busy) return 'none';
  const step = dueStep(state);
  const backsOff = state.retryAtMs !== undefined && nowMs < state.retryAtMs;
  return backsOff && (step === 'setUp' || step === 'expand' || step === 'tearDown') ? 'wait' : step;
}

function dueStep({ wanted, presence, node, stale, expands }: VolumeState): VolumeStep {
  if (wanted === undefined) return 'none';
  if (wanted && presence === 'ready' && stale) return 'setUp';
  if (wanted && presence === 'ready') return expands ? 'expand' : 'none';
  if (wanted) return node === 'notStaged' ? 'stage' : 'setUp';
  return presence === 'absent' ? 'forget' : 'tearDown';
}

const INITIAL_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 122_000;

/**
 * Returns the back-off after one more failure, in milliseconds (`pkg/util/goroutinemap/exponentialbackoff`).
 * @param maxMs longest back-off. Default: 122 s
 */
export function nextBackOffMs(previousMs: number | undefined, maxMs: number = MAX_BACK_OFF_MS): number {
  return previousMs === undefined ? INITIAL_BACK_OFF_MS : Math.min(2 * previousMs, maxMs);
}
