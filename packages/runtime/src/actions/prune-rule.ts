import type { Pod, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { attemptsOf, byPrecedence } from './current-status.ts';

/**
 * The records of init containers that need not be kept: of each all ended ones but the newest; for a new sandbox all
 * of them, so that none is taken for done there (`pruneInitContainersBeforeStart`, `purgeInitContainers` upstream).
 */
export function surplusInitContainers(
  pod: Pod,
  statuses: readonly RuntimeContainerStatus[],
  newSandbox: boolean,
): readonly RuntimeContainerStatus[] {
  return (pod.spec.initContainers ?? []).flatMap(({ name }) => {
    const records = attemptsOf(statuses, name);
    if (newSandbox) return records;
    const ended = records.filter(({ state }) => state === 'exited' || state === 'unknown');
    return ended.sort(byPrecedence).slice(1);
  });
}

/** The number of the attempt that follows a record: what never started is created again under the same. */
export function attemptAfter({ state, restartCount }: Pick<RuntimeContainerStatus, 'state' | 'restartCount'>): number {
  return state === 'created' ? restartCount : restartCount + 1;
}
