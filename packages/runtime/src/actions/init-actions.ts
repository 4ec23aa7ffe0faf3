import {
  type Container,
  canRestartAll,
  initFailed,
  isRestartableInit,
  type RestartOwed,
  type RuntimeContainerStatus,
  restartsAfterKill,
  shouldStart,
  showsInitialized,
} from '@node-agent/pod-spec';
import { currentStatus } from './current-status.ts';
import { killReason, type PodActionsDraft, type Situation } from './pod-actions.ts';
import { addResize } from './resize-actions.ts';

/** Reason and event message of the restart of a running sidecar whose `postStart` hook failed. */
const HOOK_FAILED: RestartOwed = { reason: 'FailedPostStartHook', message: 'FailedPostStartHook' };

/** Result of examining one init container. */
type Step =
  | { readonly kind: 'wait' }
  /**
   * The container has completed, or is a started sidecar, so the next one can start. `restart`: the sidecar itself is
   * restarted.
   */
  | { readonly kind: 'passed'; readonly restart: boolean }
  | { readonly kind: 'start' }
  /** The container has failed and is not restarted, so the pod fails. */
  | { readonly kind: 'fatal' };

/**
 * Adds to `actions` what the init containers of a pod need in a usable sandbox. Init containers run one after another,
 * once per sandbox (C3). Sidecars keep running; the container after a sidecar starts once the sidecar has started and
 * passed its startup probe (C4).
 *
 * Containers are examined from last to first: records may be missing, and an existing container proves that the init
 * containers before it have completed (`computeInitContainerActions` in
 * `pkg/kubelet/kuberuntime/kuberuntime_container.go`).
 * @returns whether initialization is complete, so that the main containers may run
 */
export function computeInitActions(situation: Situation, actions: PodActionsDraft): boolean {
  const containers = situation.pod.spec.initContainers ?? [];
  if (containers.length === 0) return true;

  const statuses = provingStatuses(situation, actions.sandboxId);
  let initialized = mainContainersSeen(situation, statuses);
  let followerSeen = initialized;
  const starts: number[] = [];

  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index];
    if (container === undefined) continue;
    const status = currentStatus(statuses, container.name);
    const sidecar = isRestartableInit(container);
    if (status === undefined) {
      // A later container exists, so this container existed too, and its record was removed. Of such containers, only
      // sidecars must run now.
      if (followerSeen && sidecar) starts.push(index);
      continue;
    }
    if (followerSeen && !sidecar) continue;

    const step = sidecar
      ? sidecarStep(situation, container, status, actions)
      : initStep(situation, container, status, actions);
    if (step.kind === 'fatal') {
      actions.killPod = true;
      return false;
    }
    if (step.kind === 'passed') {
      if (index === containers.length - 1) initialized = true;
      else if (!followerSeen) starts.push(index + 1);
    }
    if (step.kind === 'start' || (step.kind === 'passed' && step.restart)) starts.push(index);
    followerSeen = true;
  }
  if (!followerSeen) starts.push(0);
  actions.initContainersToStart = starts.reverse();
  return initialized;
}

/**
 * Returns the records that show how far the init containers have come. Records of earlier sandboxes do not prove that
 * an init container has completed, because init containers run again in a new sandbox. If the pod can restart all
 * containers (KEP-5532), a container that was only created proves nothing either: an interrupted CreateContainer call
 * from before the restart can complete after the restart.
 */
function provingStatuses(
  { pod, status: { containers }, features }: Situation,
  sandboxId: string,
): readonly RuntimeContainerStatus[] {
  const here = containers.filter((status) => status.sandboxId === sandboxId || status.sandboxId === '');
  return canRestartAll(pod, features) ? here.filter(({ state }) => state !== 'created') : here;
}

/**
 * Returns whether a main container exists or existed in this sandbox, which proves that initialization is complete even
 * if no init container has a record any more (C3). Upstream does not know in which sandbox a container ran, and
 * therefore ignores exited main containers.
 */
function mainContainersSeen({ pod, features }: Situation, statuses: readonly RuntimeContainerStatus[]): boolean {
  return statuses.some((record) => record.state !== 'unknown' && showsInitialized(pod, record, features));
}

function initStep(
  situation: Situation,
  container: Container,
  status: RuntimeContainerStatus,
  actions: PodActionsDraft,
): Step {
  const { pod, features } = situation;
  switch (status.state) {
    case 'created':
      return { kind: 'start' };
    case 'running':
      if (status.startUnfinished) return { kind: 'start' };
      // The result is ignored: API validation rejects resize policies that would restart a regular init container.
      addResize(pod, container, 'init', status, situation.resize, actions);
      return { kind: 'wait' };
    case 'exited':
      if (!initFailed(status)) return { kind: 'passed', restart: false };
      return { kind: shouldStart(pod, container, status, features) ? 'start' : 'fatal' };
    default:
      if (!restartsAfterKill(pod, container, features)) return { kind: 'fatal' };
      killUnknown(container, status, actions);
      return { kind: 'start' };
  }
}

function sidecarStep(
  situation: Situation,
  container: Container,
  status: RuntimeContainerStatus,
  actions: PodActionsDraft,
): Step {
  switch (status.state) {
    case 'created':
    case 'exited':
      return { kind: 'start' };
    case 'running':
      return runningSidecarStep(situation, container, status, actions);
    default:
      killUnknown(container, status, actions);
      return { kind: 'start' };
  }
}

function runningSidecarStep(
  { pod, probes, containerHash, resize }: Situation,
  container: Container,
  status: RuntimeContainerStatus,
  actions: PodActionsDraft,
): Step {
  const { name } = container;
  const kill = (message: string, reason: 'StartupProbe' | 'LivenessProbe' | 'Unknown'): void => {
    actions.containersToKill.set(status.id, { name, message: `Init container ${name} ${message}`, reason });
  };
  const restartOwed = status.restartOwed ?? (status.hookFailed && HOOK_FAILED);
  if (restartOwed !== undefined) {
    actions.containersToKill.set(status.id, {
      ...{ name, message: restartOwed.message },
      reason: killReason(restartOwed.reason),
    });
    return { kind: 'start' };
  }
  if (container.startupProbe != null) {
    const startup = probes.startup(status.id);
    if (startup === 'failure') {
      kill('failed startup probe', 'StartupProbe');
      return { kind: 'start' };
    }
    if (status.startUnfinished) return { kind: 'start' };
    if (startup !== 'success') return { kind: 'wait' };
  }
  if (status.hash !== '' && status.hash !== containerHash(container)) {
    kill('definition changed', 'Unknown');
    return { kind: 'passed', restart: true };
  }
  if (container.livenessProbe != null && probes.liveness(status.id) === 'failure') {
    kill('failed liveness probe', 'LivenessProbe');
    return { kind: 'passed', restart: true };
  }
  // The next containers wait for the sidecar's hook (C4, C5).
  if (status.startUnfinished) return { kind: 'start' };
  return { kind: 'passed', restart: addResize(pod, container, 'sidecar', status, resize, actions) };
}

function killUnknown({ name }: Container, status: RuntimeContainerStatus, actions: PodActionsDraft): void {
  // The container may still run; unless it is killed first, two containers of one name could run (C1).
  const message = 'Init container is in "unknown" state, try killing it before restart';
  actions.containersToKill.set(status.id, { name, message, reason: 'Unknown' });
}
