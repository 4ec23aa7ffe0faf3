import type { Container, Pod } from './api.ts';
import { findContainer } from './containers.ts';
import { initFailed, type RestartFeatures, restartsAfterKill, shouldRestartExited } from './restart-policy.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './runtime-status.ts';

/**
 * Returns a pod's status without stray attempts: containers that were created but never started, although an earlier
 * attempt's exit leaves nothing to do. A CreateContainer call of an earlier kubelet can leave a stray container late,
 * with any attempt number. If a stray container counted as the newest attempt, it would be started. But an init
 * container runs once per sandbox (C3), an ephemeral container runs once, and a main container's last exit code decides
 * about its restart (C6).
 *
 * A main container that exited with 0 may also have been killed for a restart by a kubelet that died before it started
 * the container's successor. A container created after the exit is therefore kept if the spec has changed since, or if
 * a probe or resize can request a restart. Upstream keeps all containers that were created but never started.
 * @returns the given status object if there are no stray attempts
 */
export function withoutStrayAttempts<T extends Pick<RuntimePodStatus, 'containers'>>(
  pod: Pod,
  status: T,
  features: RestartFeatures,
): T {
  const { containers } = status;
  const kept = containers.filter((one) => one.state !== 'created' || !isStray(pod, one, containers, features));
  return kept.length === containers.length ? status : { ...status, containers: kept };
}

function isStray(
  pod: Pod,
  created: RuntimeContainerStatus,
  all: readonly RuntimeContainerStatus[],
  features: RestartFeatures,
): boolean {
  const found = findContainer(pod, created.name);
  const others = all.filter(({ name, state }) => name === created.name && state !== 'created');
  const here = others.filter(({ sandboxId }) => isSameSandbox(sandboxId, created.sandboxId));
  switch (found?.type) {
    case 'init':
      return here.some((one) => one.state === 'exited' && !initFailed(one));
    case 'ephemeral':
      return others.length > 0;
    case 'main': {
      const [newest] = here.toSorted((a, b) => b.restartCount - a.restartCount || b.createdAtMs - a.createdAtMs);
      return newest?.state === 'exited' && isLast(pod, found.container, newest, created, features);
    }
    default:
      return false;
  }
}

/** A container whose sandbox is unknown counts as part of the pod's sandbox. */
function isSameSandbox(one: string, other: string): boolean {
  return one === other || one === '' || other === '';
}

/** Returns whether no kubelet can have planned another attempt. */
function isLast(
  pod: Pod,
  container: Container,
  ended: RuntimeContainerStatus,
  created: RuntimeContainerStatus,
  features: RestartFeatures,
): boolean {
  if (shouldRestartExited(pod, container, ended, features)) return false;
  // A successor is created only after the previous attempt has finished.
  if (created.createdAtMs > 0 && created.createdAtMs < ended.finishedAtMs) return true;
  const isOfAnotherSpec = created.hash !== '' && ended.hash !== '' && created.hash !== ended.hash;
  return !isOfAnotherSpec && !isKilledToRestart(pod, container, features);
}

/** Returns whether the container may have been killed for a restart, regardless of its exit code. */
function isKilledToRestart(pod: Pod, container: Container, features: RestartFeatures): boolean {
  const { livenessProbe, startupProbe, resizePolicy = [] } = container;
  const resized = resizePolicy.some(({ restartPolicy }) => restartPolicy === 'RestartContainer');
  return (livenessProbe != null || startupProbe != null || resized) && restartsAfterKill(pod, container, features);
}
