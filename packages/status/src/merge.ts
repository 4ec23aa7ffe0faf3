import {
  type ContainerStatus,
  canRestartAll,
  defaultRestartFeatures,
  isMirrorPod,
  isTerminalPhase,
  type Pod,
  type PodCondition,
  type PodStatus,
  shouldRestartExited,
} from '@node-agent/pod-spec';
import { isKubeletCondition } from './conditions.ts';
import { apiTime } from './time.ts';

/** Inputs of {@link mergePodStatus} besides the two statuses. */
export interface MergeContext {
  /** S2: whether containers run or may be started. */
  readonly couldHaveRunningContainers: boolean;
  /** Current time of the wall clock. */
  readonly nowMs: number;
}

/**
 * Fields of a status that are removed when the kubelet no longer reports them. All other fields are kept as the API has
 * them (S4).
 */
const OWN_FIELDS = [
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'allocatedResources',
  'resources',
] as const satisfies readonly (keyof PodStatus)[];

/** Condition type that both the kubelet and other clients write. */
const SHARED_CONDITION = 'DisruptionTarget';

/**
 * Returns the status that the API should show: the kubelet's status merged into fields of other writers
 * (`mergePodStatus` in `pkg/kubelet/status/status_manager.go`). A terminal phase in the API is kept (S1), except in a
 * mirror pod, whose static pod may restart; upstream overwrites a terminal phase that another client set. A new
 * terminal phase is withheld until no container can run any more (S2).
 * @param pod the pod as the API has it
 * @param next status that the kubelet generated
 */
export function mergePodStatus(pod: Pod, next: PodStatus, context: MergeContext): PodStatus {
  const api = pod.status ?? {};
  const own: Draft = Object.fromEntries(OWN_FIELDS.map((field) => [field, next[field]]));
  const observedGeneration = Math.max(api.observedGeneration ?? 0, next.observedGeneration ?? 0);
  const merged = compact({
    ...api,
    ...own,
    ...mergedPhase(pod, next, context),
    conditions: mergedConditions(api, next, context),
    ...mergedContainers(pod, next),
    ...(observedGeneration > 0 && { observedGeneration }),
    ...(next.qosClass !== undefined && { qosClass: next.qosClass }),
  });
  return isTerminalPhase(merged.phase) ? withoutReadiness(pod, merged, context.nowMs) : merged;
}

type Draft = { readonly [K in keyof PodStatus]: PodStatus[K] | undefined };

function compact(draft: Draft): PodStatus {
  const status: Record<string, unknown> = {};
  for (const name in draft) {
    const value = draft[name as keyof Draft];
    if (value !== undefined) status[name] = value;
  }
  return status;
}

function mergedPhase(pod: Pod, next: PodStatus, context: MergeContext): Draft {
  const api = pod.status ?? {};
  const wanted = next.phase ?? api.phase;
  const settled = isTerminalPhase(api.phase) && wanted !== api.phase && !isMirrorPod(pod);
  const tooEarly = !isTerminalPhase(api.phase) && isTerminalPhase(wanted) && context.couldHaveRunningContainers;
  const { phase, reason, message } = settled || tooEarly ? api : { ...next, phase: wanted };
  return { phase, reason, message };
}

function mergedConditions(api: PodStatus, next: PodStatus, context: MergeContext): readonly PodCondition[] {
  const others = (api.conditions ?? []).filter(({ type }) => !isKubeletCondition(type));
  const own = (next.conditions ?? []).filter(({ type }) => isKubeletCondition(type));
  const shared = next.conditions?.find(({ type }) => type === SHARED_CONDITION);
  const ends = !isTerminalPhase(api.phase) && isTerminalPhase(next.phase) && !context.couldHaveRunningContainers;
  if (shared === undefined || !ends) return [...others, ...own];
  // The condition is published together with the terminal phase, so its transition time is now, even if it was recorded
  // long ago.
  const stamped = withTransitionTime(shared, api.conditions, context.nowMs);
  const has = others.some(({ type }) => type === SHARED_CONDITION);
  const replaced = others.map((condition) => (condition.type === SHARED_CONDITION ? stamped : condition));
  return [...(has ? replaced : [...others, stamped]), ...own];
}

/** Marks a terminated pod as not ready, whatever its last probe results were (k/k#108594). */
function withoutReadiness(pod: Pod, status: PodStatus, nowMs: number): PodStatus {
  const conditions = status.conditions ?? [];
  const types = ['ContainersReady', 'Ready'];
  if (!conditions.some(({ type, status: value }) => types.includes(type) && value === 'True')) return status;
  const reason = status.phase === 'Failed' ? 'PodFailed' : 'PodCompleted';
  const { generation } = pod.metadata;
  const ended = types.map((type) => ({
    type,
    status: 'False',
    reason,
    ...(generation !== undefined && { observedGeneration: generation }),
  }));
  const stamped = ended.map((condition) => withTransitionTime(condition, conditions, nowMs));
  const replaced = conditions.map((condition) => stamped.find(({ type }) => type === condition.type) ?? condition);
  const added = stamped.filter(({ type }) => !conditions.some((condition) => condition.type === type));
  return { ...status, conditions: [...replaced, ...added] };
}

function withTransitionTime(
  condition: PodCondition,
  before: readonly PodCondition[] | undefined,
  nowMs: number,
): PodCondition {
  const old = before?.find(({ type }) => type === condition.type);
  const time = old?.status === condition.status ? old.lastTransitionTime : undefined;
  return { ...condition, lastTransitionTime: time ?? apiTime(nowMs) ?? '' };
}

/**
 * S3: restart counts never decrease, even if the records they were computed from are lost. A terminated container stays
 * terminated if the API server rejects a status that shows it as waiting or running (`ValidatePodStatusUpdate` in
 * `pkg/apis/core/validation/validation.go`). Otherwise the kubelet would send that status again and again, and the API
 * would keep the pod's old phase, conditions and addresses. A terminated container of a pod with a terminal phase stays
 * terminated, too.
 */
function mergedContainers(pod: Pod, next: PodStatus): Partial<PodStatus> {
  const api = pod.status ?? {};
  const isOver = isTerminalPhase(api.phase) && !isMirrorPod(pod);
  const main = mergedStatuses(api.containerStatuses, next.containerStatuses, () => isOver);
  const init = mergedStatuses(
    api.initContainerStatuses,
    next.initContainerStatuses,
    (old) => isOver || initStaysTerminated(pod, old),
  );
  const ephemeral = mergedStatuses(api.ephemeralContainerStatuses, next.ephemeralContainerStatuses, () => true);
  return {
    ...(main && { containerStatuses: main }),
    ...(init && { initContainerStatuses: init }),
    ...(ephemeral && { ephemeralContainerStatuses: ephemeral }),
  };
}

/** @param staysTerminated returns whether a terminated container stays terminated */
function mergedStatuses(
  before: readonly ContainerStatus[] = [],
  after: readonly ContainerStatus[] | undefined,
  staysTerminated: (old: ContainerStatus) => boolean,
): readonly ContainerStatus[] | undefined {
  return after?.map((status) => {
    const old = before.find(({ name }) => name === status.name);
    if (old?.state?.terminated != null && status.state?.terminated == null && staysTerminated(old)) return old;
    const { restartCount = 0 } = old ?? {};
    return restartCount > status.restartCount ? { ...status, restartCount } : status;
  });
}

/**
 * Returns whether the API server shows a terminated init container as terminated whatever runs. In a new sandbox, for
 * example after a reboot, an init container runs again although its restart policy is OnFailure and it had succeeded
 * (C3). The rejected status of a mirror pod is needed: the mirror pod is then replaced.
 */
function initStaysTerminated(pod: Pod, { name, state }: ContainerStatus): boolean {
  if (isMirrorPod(pod) || canRestartAll(pod, defaultRestartFeatures)) return false;
  const container = pod.spec.initContainers?.find((one) => one.name === name);
  if (container === undefined) return false;
  // The API server looks only at the exit code.
  const end = { exitCode: state?.terminated?.exitCode ?? 0, reason: '' };
  return !shouldRestartExited(pod, container, end, defaultRestartFeatures);
}
