import type { Container, Pod } from './api.ts';
import { findContainer } from './containers.ts';
import { initFailed, type RestartFeatures, restartsAfterKill, shouldRestartExited } from './restart-policy.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from './runtime-status.ts';

/**
 * A pod's status without the attempts that count for nothing: created, never run, and beside one whose end leaves nothing to do. A
 * CreateContainer of an earlier kubelet can leave such a one late, of whatever number. Taken for the newest attempt it would be run, though
 * an init container runs once in a sandbox (C3), an ephemeral one once in its life, and of a main one the exit code decides (C6).
 *
 * A main container that has ended well may also have been killed to be started anew, by a kubelet that died before it had started what it
 * created. So where its spec has changed since, or a probe or a resize can ask for that, one that was created after the end is kept, as
 * upstream keeps them all.
 * @returns the status itself where there is none
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

/** What nothing tells the sandbox of is taken for one of the pod's own. */
function isSameSandbox(one: string, other: string): boolean {
  return one === other || one === '' || other === '';
}

/** Whether no kubelet can have meant another attempt to follow. */
function isLast(
  pod: Pod,
  container: Container,
  ended: RuntimeContainerStatus,
  created: RuntimeContainerStatus,
  features: RestartFeatures,
): boolean {
  if (shouldRestartExited(pod, container, ended, features)) return false;
  // What is to follow is created once the other one is gone.
  if (created.createdAtMs > 0 && created.createdAtMs < ended.finishedAtMs) return true;
  const isOfAnotherSpec = created.hash !== '' && ended.hash !== '' && created.hash !== ended.hash;
  return !isOfAnotherSpec && !isKilledToRestart(pod, container, features);
}

/** Whether it may have been killed while it ran, so that it starts anew whatever its exit code. */
function isKilledToRestart(pod: Pod, container: Container, features: RestartFeatures): boolean {
  const { livenessProbe, startupProbe, resizePolicy = [] } = container;
  const resized = resizePolicy.some(({ restartPolicy }) => restartPolicy === 'RestartContainer');
  return (livenessProbe != null || startupProbe != null || resized) && restartsAfterKill(pod, container, features);
}
