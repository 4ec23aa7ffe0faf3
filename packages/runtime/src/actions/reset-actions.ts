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
 * Whether the exit of some container asks for all containers of its pod to begin anew: its first matching rule has
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
 * The records that go so that all containers begin anew; none where no exit asks for it. Main containers go before
 * init containers, and those whose exit asked for it last of all: as long as one is there the work is not done, so
 * that a kubelet which dies half-way goes on after its restart. Upstream keeps that knowledge in a pod condition.
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
