import type { VolumeState } from './volume-state.ts';

/**
 * State of a volume that several pods of the node may share, for example a disk that is mounted once for all of them.
 *
 * | wanted by a pod | in use, or possibly  | presence          | attached | step                                             |
 * |-----------------|----------------------|-------------------|----------|--------------------------------------------------|
 * | yes             | -                    | absent, uncertain | no       | wait until a controller has attached it          |
 * | yes             | -                    | absent, uncertain | yes      | stage it                                         |
 * | yes             | -                    | staged            | -        | nothing                                          |
 * | yes             | no                   | otherwise         | -        | unstage it, to stage it as the pod wants it      |
 * | yes             | by a pod that ended  | otherwise         | -        | nothing: it is unmounted for that pod first      |
 * | no              | yes                  | -                 | -        | nothing: it is in use until the last pod is gone |
 * | no              | no                   | staged, uncertain | -        | unstage it                                       |
 * | no              | no                   | absent            | -        | forget it                                        |
 *
 * No operation starts while another operation of the volume runs, or before the back-off of a failed one has passed. A
 * pod's wish for the volume is recorded here before anything is mounted for the pod. A failed operation changes the
 * presence as `presenceAfterFailure` says.
 * Source: `pkg/kubelet/volumemanager` (`unmountDetachDevices`; `MountDevice` in the operation executor).
 */
export interface NodeVolumeState {
  readonly wanted: boolean;
  readonly inPods: boolean;
  /** Whether a pod that does not want the volume (any more) has it, or may have it. Default: false. */
  readonly isLeaving?: boolean;
  /** `uncertain`: a failed operation or a former process may have staged the volume. */
  readonly presence: 'absent' | 'uncertain' | 'staged';
  /**
   * Whether the volume is, or may be, staged with another SELinux label than the pod wants (`otherwise` in the table).
   * Default: false.
   */
  readonly isOtherwise?: boolean;
  /** Whether the volume is attached to this node, or need not be. */
  readonly attached: boolean;
  /** Whether an operation is in progress. */
  readonly busy: boolean;
  /** Monotonic time of the next retry after a failure. */
  readonly retryAtMs: number | undefined;
}

/** Next operation of a node volume. `attach`: a controller attaches the volume. */
export type NodeVolumeStep = 'attach' | 'stage' | 'unstage' | 'forget' | 'wait' | 'none';

/** Implements the table of {@link NodeVolumeState}. `wait` means: the next step is not due before `retryAtMs`. */
export function nextNodeVolumeStep(state: NodeVolumeState, nowMs: number): NodeVolumeStep {
  if (state.busy) return 'none';
  const step = dueStep(state);
  const backsOff = state.retryAtMs !== undefined && nowMs < state.retryAtMs;
  return backsOff && (step === 'stage' || step === 'unstage') ? 'wait' : step;
}

function dueStep({ wanted, inPods, isLeaving, presence, isOtherwise, attached }: NodeVolumeState): NodeVolumeStep {
  if (wanted && isOtherwise && !inPods) return 'unstage';
  if (wanted && isOtherwise && isLeaving) return 'none';
  if (wanted && presence === 'staged') return 'none';
  if (wanted) return attached ? 'stage' : 'attach';
  if (inPods) return 'none';
  return presence === 'absent' ? 'forget' : 'unstage';
}

/** Whether one pod wants a node volume, and whether the pod has it or may have it. */
export type NodeVolumeUse = Pick<NodeVolumeState, 'wanted' | 'inPods'>;

/**
 * Derives a pod's use of a node volume from the state of the pod's own volume. A volume that was found on disk counts
 * as in use until its pod is known.
 */
export function nodeVolumeUse({ wanted, presence }: Pick<VolumeState, 'wanted' | 'presence'>): NodeVolumeUse {
  return { wanted: wanted === true, inPods: presence !== 'absent' };
}
