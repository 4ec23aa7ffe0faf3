import {
  type Container,
  defaultRestartFeatures,
  type Pod,
  type RuntimeContainerStatus,
  type RuntimePodStatus,
  restartsAfterKill,
  shouldStart,
  withoutStrayAttempts,
} from '@node-agent/pod-spec';
import { containerHash } from '../reconcile/container-hash.ts';
import { currentStatus } from './current-status.ts';
import { computeInitActions } from './init-actions.ts';
import {
  type KillReason,
  killReason,
  type PodActions,
  type PodActionsContext,
  type PodActionsDraft,
  type Situation,
} from './pod-actions.ts';
import { containersToReset } from './reset-actions.ts';
import { addResize, podLevelDiffers } from './resize-actions.ts';
import { podSandboxChanged } from './sandbox-changed.ts';

/**
 * Computes the actions that make the runtime match a pod that should run. This pure function is the core of the package
 * (`computePodActions` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
 *
 * The actions ignore the restart back-off: a container that should start may still have to wait (see `RestartBackOff`).
 */
export function computePodActions(pod: Pod, status: RuntimePodStatus, context: PodActionsContext): PodActions {
  const { features = defaultRestartFeatures } = context;
  const situation: Situation = {
    pod,
    status: withoutStrayAttempts(pod, status, features),
    probes: context.probes,
    features,
    containerHash: context.containerHash ?? containerHash,
    resize: context.resize,
  };
  const sandbox = podSandboxChanged(pod, status);
  const actions: PodActionsDraft = {
    killPod: sandbox.changed,
    createSandbox: sandbox.changed,
    sandboxId: sandbox.sandboxId,
    attempt: sandbox.attempt,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: new Map(),
    containersToReset: [],
    containersToUpdate: { memory: [], cpu: [] },
    updatePodResources: context.resize?.groupDiffers ?? false,
    updatePodLevelResources: false,
  };

  const reset = containersToReset(pod, status, features);
  if (reset.length > 0) {
    // A restart of all containers only removes container records. The next sync checks the sandbox and starts the
    // containers again.
    return { ...actions, killPod: false, createSandbox: false, containersToReset: reset };
  }
  if (sandbox.changed) {
    computeNewSandboxActions(situation, actions);
    return actions;
  }
  const here = inThisSandbox(situation, actions);
  for (const [index, { name }] of (pod.spec.ephemeralContainers ?? []).entries()) {
    // An ephemeral container never runs twice. An ephemeral container that was created but not started has not run. The
    // start of a running ephemeral container may still be incomplete.
    const current = currentStatus(here.status.containers, name);
    const isToStart = current === undefined || current.state === 'created';
    const isUnfinished = current?.state === 'running' && current.startUnfinished === true;
    if (isToStart || isUnfinished) actions.ephemeralContainersToStart.push(index);
  }
  killSurplus(here, actions);
  const initialized = computeInitActions(here, actions);
  if (!actions.killPod && initialized) computeMainActions(here, actions);
  if (!actions.killPod) actions.updatePodLevelResources = podLevelDiffers(pod, context.resize);
  return actions;
}

/**
 * Starts the pod in a new sandbox, unless no container of the pod has to run any more. Containers that have run are
 * restarted according to their own rules and policy; containers that have not run are started. Upstream gives a pod
 * with policy Never no second sandbox, so a pod whose sandbox died before all its containers had run waits forever.
 */
function computeNewSandboxActions(situation: Situation, actions: PodActionsDraft): void {
  const { pod, status } = situation;
  const toStart: number[] = [];
  for (const [index, container] of pod.spec.containers.entries()) {
    if (runsInNewSandbox(situation, container)) toStart.push(index);
  }
  if (toStart.length === 0 && hasAnyMainContainer(pod, status)) {
    actions.createSandbox = false;
    return;
  }
  if ((pod.spec.initContainers ?? []).length > 0) actions.initContainersToStart = [0];
  else actions.containersToStart = toStart;
}

function runsInNewSandbox({ pod, status, features }: Situation, container: Container): boolean {
  const current = currentStatus(status.containers, container.name);
  // A running container has no exit code yet, so its exit code cannot decide whether it runs again.
  const killed = current?.state === 'running' || current?.state === 'unknown';
  return killed ? restartsAfterKill(pod, container, features) : shouldStart(pod, container, current, features);
}

function hasAnyMainContainer(pod: Pod, status: RuntimePodStatus): boolean {
  return pod.spec.containers.some(({ name }) => {
    const state = currentStatus(status.containers, name)?.state;
    return state !== undefined && state !== 'unknown';
  });
}

function computeMainActions(situation: Situation, actions: PodActionsDraft): void {
  const { pod, status, features } = situation;
  let kept = 0;
  for (const [index, container] of pod.spec.containers.entries()) {
    const current = currentStatus(status.containers, container.name);
    if (current?.state !== 'running') {
      if (!shouldStart(pod, container, current, features)) continue;
      actions.containersToStart.push(index);
      if (current?.state === 'unknown') {
        // The container may still run; unless it is killed first, two containers of one name could run (C1).
        const message = 'Container is in "unknown" state, try killing it before restart';
        actions.containersToKill.set(current.id, { name: container.name, message, reason: 'Unknown' });
      }
      continue;
    }
    const cause = killCause(situation, container, current);
    if (cause === undefined) {
      // The interrupted start is completed first: the log link, the event and the hook of a start whose response was
      // lost (C5).
      if (current.startUnfinished) {
        actions.containersToStart.push(index);
        kept++;
      } else if (addResize(pod, container, 'main', current, situation.resize, actions))
        actions.containersToStart.push(index);
      else kept++;
      continue;
    }
    const restart = cause.always || restartsAfterKill(pod, container, features);
    if (restart) actions.containersToStart.push(index);
    else if (cause.exitDecides) kept++;
    const message = restart && !cause.wasDecidedBefore ? `${cause.message}, will be restarted` : cause.message;
    actions.containersToKill.set(current.id, { name: container.name, message, reason: cause.reason });
  }
  if (kept === 0 && actions.containersToStart.length === 0) {
    actions.killPod = true;
    // Sidecars alone do not keep a pod running.
    actions.initContainersToStart = [];
  }
}

interface KillCause {
  readonly message: string;
  readonly reason: KillReason;
  /** Whether the container runs again whatever its restart policy. */
  readonly always: boolean;
  /** Whether an earlier sync or kubelet decided on the kill and may already have signalled the container. */
  readonly wasDecidedBefore?: true;
  /**
   * Whether the pod is kept for the next sync, which applies the container's restart rules to its exit code. If absent,
   * only restart policies decide, because the container has no exit code yet.
   */
  readonly exitDecides?: true;
}

function killCause(
  { containerHash, probes }: Situation,
  container: Container,
  status: RuntimeContainerStatus,
): KillCause | undefined {
  const { name } = container;
  const { restartOwed } = status;
  if (restartOwed !== undefined) {
    return {
      message: restartOwed.message,
      reason: killReason(restartOwed.reason),
      always: true,
      wasDecidedBefore: true,
    };
  }
  if (status.hookFailed) {
    return {
      message: 'FailedPostStartHook',
      reason: 'FailedPostStartHook',
      always: false,
      wasDecidedBefore: true,
      // Usually, the start that ran the failed hook also stops the container (upstream: `startContainer` in
      // `pkg/kubelet/kuberuntime/kuberuntime_container.go`), and the container's restart rules decide by its exit code.
      // The rules must also decide if only a later sync stops the container.
      exitDecides: true,
    };
  }
  // If the runtime lost the annotation with the hash, the hashes cannot be compared, and the container must not be
  // killed in every sync.
  if (status.hash !== '' && status.hash !== containerHash(container)) {
    return { message: `Container ${name} definition changed`, reason: 'Unknown', always: true };
  }
  if (probes.liveness(status.id) === 'failure') {
    return { message: `Container ${name} failed liveness probe`, reason: 'LivenessProbe', always: false };
  }
  if (probes.startup(status.id) === 'failure') {
    return { message: `Container ${name} failed startup probe`, reason: 'StartupProbe', always: false };
  }
  return undefined;
}

/**
 * Returns the situation with containers that may run in a sandbox other than the pod's current one counted as unknown,
 * and adds them to the containers to kill. The network of such containers no longer exists, so they must not count as
 * containers of the pod.
 */
function inThisSandbox(situation: Situation, actions: PodActionsDraft): Situation {
  const { status } = situation;
  const containers = status.containers.map((container): RuntimeContainerStatus => {
    const { id, name, state, sandboxId } = container;
    if (sandboxId === '' || sandboxId === actions.sandboxId) return container;
    const mayRun = state === 'running' || (state === 'unknown' && currentStatus(status.containers, name) === container);
    if (!mayRun) return container;
    const message = `Container ${name} is in a sandbox that was replaced`;
    actions.containersToKill.set(id, { name, message, reason: 'Unknown' });
    return { ...container, state: 'unknown' };
  });
  return { ...situation, status: { ...status, containers } };
}

/** Kills all running containers of one name except the current one (C1). */
function killSurplus({ status }: Situation, actions: PodActionsDraft): void {
  for (const container of status.containers) {
    if (container.state !== 'running' || container.name === '') continue;
    if (currentStatus(status.containers, container.name) === container) continue;
    const message = `Container ${container.name} runs twice, stopping attempt ${container.restartCount}`;
    actions.containersToKill.set(container.id, { name: container.name, message, reason: 'Unknown' });
  }
}
