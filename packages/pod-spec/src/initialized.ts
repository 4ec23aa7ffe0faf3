import type { Pod } from './api.ts';
import { canRestartAll, type RestartFeatures } from './restart-policy.ts';
import type { RuntimeContainerStatus } from './runtime-status.ts';

/**
 * Whether the record of a container shows that the init containers of its sandbox are through: it is one of the main containers (C3).
 *
 * Not where it was merely created and all containers of the pod can begin anew (KEP-5532): a CreateContainer that was broken off before they
 * did can go through after it, while the init containers run once more. Upstream takes it for a proof.
 */
export function showsInitialized(
  pod: Pick<Pod, 'spec'>,
  { name, state }: Pick<RuntimeContainerStatus, 'name' | 'state'>,
  features: RestartFeatures,
): boolean {
  if (!pod.spec.containers.some((main) => main.name === name)) return false;
  const canBeLeftOver = features.containerRestartRules && features.restartAllContainers && canRestartAll(pod);
  return state !== 'created' || !canBeLeftOver;
}
