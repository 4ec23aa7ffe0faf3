import type { Container, ContainerRestartRule, Pod } from './api.ts';
import type { RuntimeContainerStatus } from './runtime-status.ts';

/** Facts about a terminated container that decide whether it is restarted. */
export type EndedContainer = Pick<RuntimeContainerStatus, 'state' | 'exitCode' | 'reason'> &
  Partial<Pick<RuntimeContainerStatus, 'restartOwed'>>;

/** Feature gates that affect restarts. Both feature gates are enabled by default since 1.36. */
export interface RestartFeatures {
  /** `ContainerRestartRules` (KEP-5307): enables a container's `restartPolicy` and `restartPolicyRules`. */
  readonly containerRestartRules: boolean;
  /** `RestartAllContainersOnContainerExits` (KEP-5532): enables the rule action `RestartAllContainers`. */
  readonly restartAllContainers: boolean;
}

/** The default: both feature gates are enabled. */
export const defaultRestartFeatures: RestartFeatures = { containerRestartRules: true, restartAllContainers: true };

/**
 * Returns whether an init container that is not a sidecar has failed (`isInitContainerFailed` in
 * `pkg/kubelet/kuberuntime/helpers.go`). An init container has failed if its exit code is not 0, if one of its
 * processes was OOM-killed, or if its end is unknown. For all other containers only the exit code counts.
 */
export function initFailed({ state, exitCode, reason }: EndedContainer): boolean {
  return (state === 'exited' && (exitCode !== 0 || reason === 'OOMKilled')) || state === 'unknown';
}

/** Returns the first restart rule of a container that matches an exit code; `undefined` if none does. */
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
 * Returns whether the exit of a container requests a restart of all containers of its pod: its first matching rule has
 * the action `RestartAllContainers` (KEP-5532).
 */
export function asksToRestartAll(
  container: Pick<Container, 'restartPolicyRules'>,
  { state, exitCode }: Pick<EndedContainer, 'state' | 'exitCode'>,
): boolean {
  return state === 'exited' && matchingRestartRule(container, exitCode)?.action === 'RestartAllContainers';
}

/**
 * Returns whether any container of a pod currently requests a restart of all containers.
 * @param ended returns the newest attempt of a container by its name; `undefined` if there is none
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

/**
 * Returns whether any container of the pod has a rule that can restart all containers, and the feature gates enable
 * such rules.
 */
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
 * Returns whether an exited container should be restarted. The container's rules decide first, then its own policy,
 * then the pod's policy (`ContainerShouldRestart` in `pkg/api/v1/pod/util.go`). Upstream checks only the exit code for
 * init containers, too, and therefore terminates a pod whose init container {@link initFailed} with exit code 0.
 *
 * A container that the kubelet stopped in order to restart it is restarted regardless of its exit code, because a
 * graceful stop may exit with 0. Upstream forgets the decision to restart a container if the restart is delayed.
 */
export function shouldRestartExited(
  pod: Pod,
  container: Container,
  status: Pick<EndedContainer, 'exitCode' | 'reason' | 'restartOwed'>,
  features: RestartFeatures,
): boolean {
  if (status.restartOwed !== undefined) return true;
  const isInit = (): boolean => pod.spec.initContainers?.some(({ name }) => name === container.name) ?? false;
  // The check whether the container is an init container comes last, because a pod may have thousands of containers.
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
 * Returns whether a container that is not running should be started. A container of a pod that is being deleted should
 * not be started (`ShouldContainerBeRestarted` in `pkg/kubelet/container/helpers.go`).
 * @param status status of the newest attempt; `undefined` if there is none
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
 * Returns whether a container that is being killed should be restarted. A container that is being killed has no exit
 * code yet, so its rules cannot be evaluated: only the policies of the container and the pod count.
 */
export function restartsAfterKill(pod: Pod, container: Container, features: RestartFeatures): boolean {
  const own = features.containerRestartRules ? container.restartPolicy : undefined;
  return (own ?? pod.spec.restartPolicy) !== 'Never';
}

/**
 * Returns whether the exit of a container that is stopped for a restart could be mistaken for its final exit. The exit
 * is ambiguous if the restart policy alone would not restart the container after exit code 0.
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
