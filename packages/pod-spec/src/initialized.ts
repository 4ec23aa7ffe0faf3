import type { Container, Pod } from './api.ts';
import { oncePer } from './once-per.ts';
import { asksToRestartAll, canRestartAll, type RestartFeatures } from './restart-policy.ts';
import type { RuntimeContainerStatus } from './runtime-status.ts';

/**
 * Whether the record of a container shows that the init containers of its sandbox are through: it is one of the main containers (C3).
 *
 * Not where all containers of the pod can begin anew (KEP-5532), and it was merely created: a CreateContainer that was broken off before they
 * did can go through after it, while the init containers run once more. Nor where its end asks for that: it is the last to go. Upstream takes
 * both for a proof.
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

/** Records are looked at one by one, of which a pod may have thousands. */
const byName = oncePer(
  (containers: readonly Container[]) => new Map(containers.map((container) => [container.name, container])),
);
