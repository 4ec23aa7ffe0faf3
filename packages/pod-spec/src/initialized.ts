import type { Container, Pod } from './api.ts';
import { oncePer } from './once-per.ts';
import { asksToRestartAll, canRestartAll, type RestartFeatures } from './restart-policy.ts';
import type { RuntimeContainerStatus } from './runtime-status.ts';

/**
 * Returns whether the record of a container proves that the init containers of its sandbox have completed: true for a
 * main container (C3).
 *
 * Two exceptions apply to pods with the action RestartAllContainers (KEP-5532). A container that was only created
 * proves nothing: an interrupted CreateContainer call from before the restart can complete later, while the init
 * containers run again. A container whose exit requests the restart proves nothing either, because its record is
 * removed last. Upstream counts both as proof.
 */
export function showsInitialized(
  pod: Pick<Pod, 'spec'>,
  record: Pick<RuntimeContainerStatus, 'name' | 'state' | 'exitCode'>,
  features: RestartFeatures,
): boolean {
  const main = byName(pod.spec.containers).get(record.name);
  if (main === undefined) return false;
  return (record.state !== 'created' && !asksToRestartAll(main, record)) || !canRestartAll(pod, features);
}

/** Cached, because records are checked one by one and a pod may have thousands. */
const byName = oncePer(
  (containers: readonly Container[]) => new Map(containers.map((container) => [container.name, container])),
);
