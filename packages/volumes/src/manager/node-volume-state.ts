import type { VolumeState } from './volume-state.ts';

/**
 * What is known of a volume that several pods of the node may have, as a disk that is mounted once for all of them.
 *
 * | a pod wants it | a pod has it, or may | presence          | step                                             |
 * |----------------|----------------------|-------------------|--------------------------------------------------|
 * | yes            | -                    | absent, uncertain | stage it                                         |
 * | yes            | -                    | staged            | nothing                                          |
 * | no             | yes                  | -                 | nothing: it is in use until the last one is gone |
 * | no             | no                   | staged, uncertain | unstage it                                       |
 * | no             | no                   | absent            | forget it                                        |
 *
 * Nothing is begun while an operation of it runs, nor before the end of the back-off of one that failed. That a pod wants it is known
 * here before anything is mounted for the pod.
 * Source: `pkg/kubelet/volumemanager` (`unmountDetachDevices`; `MountDevice` in the operation executor).
 */
export interface NodeVolumeState {
  readonly wanted: boolean;
  readonly inPods: boolean;
  /** `uncertain`: it may be staged, by an operation that failed or by a former process. */
  readonly presence: 'absent' | 'uncertain' | 'staged';
  /** Whether an operation runs. */
  readonly busy: boolean;
  /** When an operation may be tried again that failed, by the monotonic clock. */
  readonly retryAtMs: number | undefined;
}

/** What is to be done about a node volume now. */
export type NodeVolumeStep = 'stage' | 'unstage' | 'forget' | 'wait' | 'none';

/** The rule of {@link NodeVolumeState}'s table. `wait`: the step is due at `retryAtMs`. */
export function nextNodeVolumeStep(state: NodeVolumeState, nowMs: number): NodeVolumeStep {
  if (state.busy) return 'none';
  const step = dueStep(state);
  const backsOff = state.retryAtMs !== undefined && nowMs < state.retryAtMs;
  return backsOff && (step === 'stage' || step === 'unstage') ? 'wait' : step;
}

function dueStep({ wanted, inPods, presence }: NodeVolumeState): NodeVolumeStep {
  if (wanted) return presence === 'staged' ? 'none' : 'stage';
  if (inPods) return 'none';
  return presence === 'absent' ? 'forget' : 'unstage';
}

/** How one pod stands to a node volume. */
export type NodeVolumeUse = Pick<NodeVolumeState, 'wanted' | 'inPods'>;

/** As its own volume tells: what was found on the disk is in use until its pod is heard of. */
export function nodeVolumeUse({ wanted, presence }: Pick<VolumeState, 'wanted' | 'presence'>): NodeVolumeUse {
  return { wanted: wanted === true, inPods: presence !== 'absent' };
}
