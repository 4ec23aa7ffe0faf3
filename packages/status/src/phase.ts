import {
  type Container,
  type ContainerStatus,
  defaultRestartFeatures,
  initFailed,
  isRestartableInit,
  isStaticPod,
  type Pod,
  type PodPhase,
  type RestartFeatures,
  shouldRestartExited,
} from '@node-agent/pod-spec';
import { RESTARTING_ALL } from './container-statuses.ts';
import { exited, type Terminated } from './exited.ts';

/** State of one container for the phase. A container that is not known counts as not started. */
type ContainerStage = 'unstarted' | 'running' | 'stopped';

/** Inputs of {@link podPhase} besides the container statuses. */
export interface PhaseContext {
  /** Whether all containers have stopped and none can start again (S2). */
  readonly podIsTerminal: boolean;
  /**
   * Whether a main container was created in the current sandbox. If true, a sidecar that restarts does not make the pod
   * Pending.
   */
  readonly hasInitialized: boolean;
  /**
   * Whether a container's exit requests a restart of all containers that is still pending (KEP-5532). Default: false.
   */
  readonly isRestartRequested?: boolean;
  /**
   * Returns whether the kubelet stopped the container of this name in order to restart it and has not restarted it yet.
   * Default: false.
   */
  readonly isRestartPending?: (containerName: string) => boolean;
  /** Feature gates that affect restarts. Default: all enabled. */
  readonly features?: RestartFeatures;
}

/**
 * Returns the phase of a pod from the statuses of its containers (`getPhase` in `pkg/kubelet/kubelet_pods.go`).
 * Difference from upstream: if a restart of all containers is requested but no container was removed yet, upstream
 * reports the pod as terminated if the other containers have terminated for good.
 * @param statuses statuses of main and init containers together
 */
export function podPhase(pod: Pod, statuses: readonly ContainerStatus[], context: PhaseContext): PodPhase {
  const { podIsTerminal, hasInitialized, features = defaultRestartFeatures, isRestartPending = () => false } = context;
  // A pod that is being deleted or has terminated restarts nothing.
  const isLeaving = podIsTerminal || pod.metadata.deletionTimestamp != null;
  const restartsAll = context.isRestartRequested === true && !isLeaving;
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const restarts = (container: Container, status: ContainerStatus | undefined, last: Terminated): boolean =>
    isRestartPending(container.name) || mayRunAgain(pod, container, status, last, features);
  const init = countInit(pod, byName, restarts);
  if (init.failedForGood && !restartsAll) return 'Failed';

  const main = countMain(pod, byName, restarts, isRestartPending);
  if (init.pending || (init.startingSidecars && !hasInitialized)) return 'Pending';
  if (init.unstartedSidecars || main.unstarted > 0) return 'Pending';
  if (init.runningSidecars || main.running > 0) return 'Running';
  if (main.stopped === 0) return 'Pending';

  // Nothing runs, and every container has run at least once.
  const ended = main.stopped === main.succeeded ? 'Succeeded' : 'Failed';
  // A static pod that is stopped keeps its phase, because its manifest may be added again with the same UID.
  if (podIsTerminal && !isStaticPod(pod)) return ended;
  return main.stoppedForGood === main.stopped && !restartsAll ? ended : 'Running';
}

type Restarts = (container: Container, status: ContainerStatus | undefined, last: Terminated) => boolean;

function countInit(pod: Pod, byName: ReadonlyMap<string, ContainerStatus>, restarts: Restarts) {
  const counts = {
    pending: false,
    failedForGood: false,
    startingSidecars: false,
    runningSidecars: false,
    unstartedSidecars: false,
  };
  for (const container of pod.spec.initContainers ?? []) {
    const status = byName.get(container.name);
    const { stage, last } = stageOf(status);
    if (!isRestartableInit(container)) {
      if (last === undefined) counts.pending = true;
      else if (initFailed(exited(last)) && !restarts(container, status, last)) counts.failedForGood = true;
    } else if (stage === 'running') {
      counts.runningSidecars = true;
      if (status?.started !== true) counts.startingSidecars = true;
    } else if (stage === 'unstarted') {
      counts.unstartedSidecars = true;
    }
  }
  return counts;
}

function countMain(
  pod: Pod,
  byName: ReadonlyMap<string, ContainerStatus>,
  restarts: Restarts,
  isRestartPending: (containerName: string) => boolean,
) {
  const counts = { unstarted: 0, running: 0, stopped: 0, stoppedForGood: 0, succeeded: 0 };
  for (const container of pod.spec.containers) {
    const status = byName.get(container.name);
    const { stage, last } = stageOf(status);
    counts[stage] += 1;
    if (last === undefined) continue;
    if (!restarts(container, status, last)) counts.stoppedForGood += 1;
    // A container that should be restarted has not completed.
    const hasSucceeded = status?.state?.terminated != null && last.exitCode === 0 && !isRestartPending(container.name);
    if (hasSucceeded) counts.succeeded += 1;
  }
  return counts;
}

/** Returns the stage of a container. A container that waits for its restart counts as stopped. */
function stageOf(status: ContainerStatus | undefined): { stage: ContainerStage; last?: Terminated } {
  const state = status?.state;
  if (state?.running != null) return { stage: 'running' };
  const last = state?.terminated ?? (state?.waiting != null ? status?.lastState?.terminated : undefined);
  return last == null ? { stage: 'unstarted' } : { stage: 'stopped', last };
}

function mayRunAgain(
  pod: Pod,
  container: Container,
  status: ContainerStatus | undefined,
  last: Terminated,
  features: RestartFeatures,
): boolean {
  // The container is restarted together with all others, whatever its own policy says. The container's last state is
  // still shown while the container waits for init containers.
  const reasons = [status?.state?.waiting?.reason, last.reason];
  if (features.restartAllContainers && reasons.includes(RESTARTING_ALL.reason)) return true;
  return shouldRestartExited(pod, container, exited(last), features);
}
