import type { ContainerStatus, PodStatus } from './api.ts';
import type { RuntimePodStatus } from './runtime-status.ts';

/**
 * Returns a pod's runtime status without attempts that never ran and were replaced by an attempt that the pod's status
 * shows as terminated, or as waiting for its restart. The runtime may refuse to remove such an attempt's record, and
 * keep it longer than the record of the later attempt. If a replaced attempt counted as the newest, the later run would
 * be forgotten. An init container would run again in its sandbox (C3), and a crashing container would restart without
 * back-off (C2).
 * @param shown the pod's status in the API
 * @returns the given runtime status if there are no such attempts
 */
export function withoutSupersededAttempts<T extends Pick<RuntimePodStatus, 'containers'>>(
  shown: PodStatus | undefined,
  status: T,
): T {
  const { containers } = status;
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = shown ?? {};
  const ended = new Map(
    [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
      .filter(hasEnded)
      .map(({ name, restartCount }) => [name, restartCount]),
  );
  const kept = containers.filter(
    ({ name, state, restartCount }) => state !== 'created' || restartCount >= (ended.get(name) ?? 0),
  );
  return kept.length === containers.length ? status : { ...status, containers: kept };
}

function hasEnded({ state, lastState }: ContainerStatus): boolean {
  return state?.terminated != null || (state?.waiting != null && lastState?.terminated != null);
}
