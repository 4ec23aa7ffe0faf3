import {
  anyAsksToRestartAll,
  asksToRestartAll,
  canRestartAll,
  type Pod,
  type RestartFeatures,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { attemptsOf, currentStatus } from './current-status.ts';
import type { ContainerToReset } from './pod-actions.ts';

/**
 * Returns whether the exit of a container requests a restart of all containers of its pod: its first matching rule has
 * the action `RestartAllContainers` (KEP-5532).
 */
function shouldRestartAllContainers(
  pod: Pod,
  status: Pick<RuntimePodStatus, 'containers'>,
  features: RestartFeatures,
): boolean {
  if (pod.metadata.deletionTimestamp != null || !canRestartAll(pod, features)) return false;
  return anyAsksToRestartAll(pod, (name) => currentStatus(status.containers, name));
}

/**
 * Returns the records to remove for a restart of all containers; empty if no exit requests it. Main containers are
 * removed before init containers, and the containers whose exit requested the restart last of all. The restart is
 * incomplete as long as a record of a container that requested it exists, so a kubelet that is killed half-way
 * continues after its own restart. Upstream records in a pod condition that a restart is in progress.
 */
export function containersToReset(
  pod: Pod,
  status: Pick<RuntimePodStatus, 'containers'>,
  features: RestartFeatures,
): ContainerToReset[] {
  if (!shouldRestartAllContainers(pod, status, features)) return [];
  const targets: ContainerToReset[] = [];
  const sources: ContainerToReset[] = [];
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
    for (const record of attemptsOf(status.containers, container.name)) {
      const { id, name, state } = record;
      const entry = { id, name, kill: state !== 'exited', neverRan: state === 'created' };
      (asksToRestartAll(container, record) ? sources : targets).push(entry);
    }
  }
  return [...targets, ...sources];
}
