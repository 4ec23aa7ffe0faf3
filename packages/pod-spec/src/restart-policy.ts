import type { Container, ContainerRestartRule, Pod } from './api.ts';
import type { RuntimeContainerStatus } from './runtime-status.ts';

/** How a container ended, as far as it bears on whether it runs again. */
export type EndedContainer = Pick<RuntimeContainerStatus, 'state' | 'exitCode' | 'reason'> &
  Partial<Pick<RuntimeContainerStatus, 'restartOwed'>>;

/** The feature gates that bear on restarts; both are on by default since 1.36. */
export interface RestartFeatures {
  /** `ContainerRestartRules` (KEP-5307): `restartPolicy` and `restartPolicyRules` of a container. */
  readonly containerRestartRules: boolean;
  /** `RestartAllContainersOnContainerExits` (KEP-5532): the rule action of that name. */
  readonly restartAllContainers: boolean;
}

/** Both gates on. */
export const defaultRestartFeatures: RestartFeatures = { containerRestartRules: true, restartAllContainers: true };

/**
 * Whether an init container that is no sidecar has not done its work: it ended badly, a process of it was killed for its memory, though it
 * exited with 0, or nothing is known of its end (`isInitContainerFailed` in `pkg/kubelet/kuberuntime/helpers.go`). Of all other containers
 * the exit code alone tells.
 */
export function initFailed({ state, exitCode, reason }: EndedContainer): boolean {
  return (state === 'exited' && (exitCode !== 0 || reason === 'OOMKilled')) || state === 'unknown';
}

/** The first of a container's restart rules that holds for an exit code; `undefined` where none does. */
function matchingRestartRule(
  container: Pick<Container, 'restartPolicyRules'>,
  exitCode: number,
): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    if (exitCodes?.operator === 'In') return listed;
    return exitCodes?.operator === 'NotIn' && !listed;
  });
}

/**
 * Whether the end of a container asks for all containers of its pod to begin anew: its first rule that holds has the action
 * `RestartAllContainers` (KEP-5532).
 */
export function asksToRestartAll(
  container: Pick<Container, 'restartPolicyRules'>,
  { state, exitCode }: Pick<EndedContainer, 'state' | 'exitCode'>,
): boolean {
  return state === 'exited' && matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
}

/**
 * Whether any container of a pod asks for that now.
 * @param ended the newest attempt of the container of this name; `undefined` where there is none
 */
export function anyAsksToRestartAll(
  pod: Pick<Pod, 'spec'>,
  ended: (name: string) => Pick<EndedContainer, 'state' | 'exitCode'> | undefined,
): boolean {
  return withRules(pod).some((container) => {
    if (!container.restartPolicyRules?.length) return false;
    const newest = ended(container.name);
    return newest !== undefined && asksToRestartAll(container, newest);
  });
}

/** Whether any of a pod's containers can ask for that: by its rules, and by the gates. */
export function canRestartAll(pod: Pick<Pod, 'spec'>, features: RestartFeatures): boolean {
  if (!features.containerRestartRules || !features.restartAllContainers) return false;
  return withRules(pod).some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers'),
  );
}

/** Ephemeral containers have no restart rules. */
function withRules({ spec }: Pick<Pod, 'spec'>): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/**
 * Whether a container that exited is to run again: its own rules first, then its own policy, then the pod's
 * (`ContainerShouldRestart` in `pkg/api/v1/pod/util.go`). Upstream asks the exit code of init containers, too, and so ends the pod of an
 * init container that {@link initFailed} with exit code 0.
 *
 * A container that the kubelet stopped to start it again runs again, whatever its exit code: it may have ended with 0 as it was told to.
 * Upstream forgets that decision when the restart is delayed.
 */
export function shouldRestartExited(
  pod: Pod,
  container: Container,
  status: Pick<EndedContainer, 'exitCode' | 'reason' | 'restartOwed'>,
  features: RestartFeatures,
): boolean {
  if (status.restartOwed !== undefined) return true;
  const isInit = (): boolean => pod.spec.initContainers?.some(({ name }) => name === container.name) ?? false;
  // Whether it is one is asked last: there may be thousands.
  const hasFailed = status.exitCode !== 0 || (initFailed({ ...status, state: 'exited' }) && isInit());
  if (features.containerRestartRules && container.restartPolicy != null) {
    const action = matchingRestartRule(container, status.exitCode)?.action;
    if (action === 'Restart') return true;
    if (action === 'RestartAllContainers' && features.restartAllContainers) return true;
    const decided = byPolicy(container.restartPolicy, hasFailed);
    if (decided !== undefined) return decided;
  }
  return byPolicy(pod.spec.restartPolicy, hasFailed) ?? true;
}

/**
 * Whether a container that does not run is to be started. A container of a pod that is being deleted is not.
 * (`ShouldContainerBeRestarted` in `pkg/kubelet/container/helpers.go`)
 * @param status of its newest attempt; `undefined` where there is none
 */
export function shouldStart(
  pod: Pod,
  container: Container,
  status: EndedContainer | undefined,
  features: RestartFeatures,
): boolean {
  if (pod.metadata.deletionTimestamp != null) return false;
  if (status === undefined) return true;
  if (status.state === 'running') return false;
  return status.state !== 'exited' || shouldRestartExited(pod, container, status, features);
}

/**
 * Whether a container that is killed now is to run again. It has no exit code yet, so that rules cannot be asked:
 * only the policies of the container and the pod are.
 */
export function restartsAfterKill(pod: Pod, container: Container, features: RestartFeatures): boolean {
  const own = features.containerRestartRules ? container.restartPolicy : undefined;
  return (own ?? pod.spec.restartPolicy) !== 'Never';
}

/**
 * Whether the end of a container that is stopped to be started again could be taken for its last one: its exit code alone, which may be 0,
 * would not start it again.
 */
export function mayEndForGood(pod: Pod, container: Container, features: RestartFeatures): boolean {
  return !shouldRestartExited(pod, container, { exitCode: 0, reason: '' }, features);
}

function byPolicy(policy: string | undefined, hasFailed: boolean): boolean | undefined {
  switch (policy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return hasFailed;
    case 'Never':
      return false;
    default:
      return undefined;
  }
}
