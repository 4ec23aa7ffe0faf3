import type { Pod } from './api.ts';
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
  const main = pod.spec.containers.find(({ name }) => name === record.name);
  if (main === undefined) return false;
  return !canRestartAll(pod, features) || (record.state !== 'created' && !asksToRestartAll(main, record));
}
