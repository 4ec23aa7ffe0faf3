/**
 * What is known of one volume of one pod: what should be (desired state of the world) beside what is (actual state).
 *
 * | wanted    | presence          | node level | stale | step                                                   |
 * |-----------|-------------------|------------|-------|--------------------------------------------------------|
 * | yes       | absent, uncertain | not staged | -     | have it staged, which is the node level's to do        |
 * | yes       | absent, uncertain | staged, none | -   | set it up                                              |
 * | yes       | ready             | -          | yes   | set it up again: what is in it is brought up to date   |
 * | yes       | ready             | -          | no    | nothing                                                |
 * | no        | ready, uncertain  | -          | -     | tear it down                                           |
 * | no        | absent            | -          | -     | forget it                                              |
 * | not known | any               | -          | -     | nothing: found on the disk, and its pod not heard of   |
 *
 * Nothing is begun while an operation of the volume runs, nor before the end of the back-off of one that failed.
 * Source: `pkg/kubelet/volumemanager` (caches and reconciler).
 */
export interface VolumeState {
  /** Whether its pod wants it; `undefined` where that is not known yet. */
  readonly wanted: boolean | undefined;
  /** `uncertain`: a part of it may be there, of an operation that failed or of a former process. */
  readonly presence: 'absent' | 'uncertain' | 'ready';
  /** How its node volume stands (`nextNodeVolumeStep`): `none` where it is in the pod alone. */
  readonly node: 'none' | 'notStaged' | 'staged';
  /** Whether its content may be out of date. */
  readonly stale: boolean;
  /** Whether an operation runs. */
  readonly busy: boolean;
  /** When an operation may be tried again that failed, by the monotonic clock. */
  readonly retryAtMs: number | undefined;
}

/** What is to be done about a volume now. */
export type VolumeStep = 'stage' | 'setUp' | 'tearDown' | 'forget' | 'wait' | 'none';

/** The rule of {@link VolumeState}'s table. `wait`: the step is due at `retryAtMs`. */
export function nextVolumeStep(state: VolumeState, nowMs: number): VolumeStep {
  if (state.busy) return 'none';
  const step = dueStep(state);
  const backsOff = state.retryAtMs !== undefined && nowMs < state.retryAtMs;
  return backsOff && (step === 'setUp' || step === 'tearDown') ? 'wait' : step;
}

function dueStep({ wanted, presence, node, stale }: VolumeState): VolumeStep {
  if (wanted === undefined) return 'none';
  if (wanted && presence === 'ready') return stale ? 'setUp' : 'none';
  if (wanted) return node === 'notStaged' ? 'stage' : 'setUp';
  return presence === 'absent' ? 'forget' : 'tearDown';
}

const INITIAL_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 122_000;

/** For how long a volume is left alone after one more failure (`pkg/util/goroutinemap/exponentialbackoff`). */
export function nextBackOffMs(previousMs: number | undefined): number {
  return previousMs === undefined ? INITIAL_BACK_OFF_MS : Math.min(2 * previousMs, MAX_BACK_OFF_MS);
}
