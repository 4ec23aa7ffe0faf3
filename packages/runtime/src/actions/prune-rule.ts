import type { Pod, RuntimeContainerStatus } from '@node-agent/pod-spec';
import { attemptsOf, byPrecedence } from './current-status.ts';

/**
 * Returns the records of init containers that need not be kept: all terminated attempts of each init container except
 * the newest. For a new sandbox, returns all records of init containers, so that none counts as completed in the new
 * sandbox (`pruneInitContainersBeforeStart`, `purgeInitContainers` upstream).
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

/** Returns the number of the next attempt. An attempt that never started is created again with the same number. */
export function attemptAfter({ state, restartCount }: Pick<RuntimeContainerStatus, 'state' | 'restartCount'>): number {
  return state === 'created' ? restartCount : restartCount + 1;
}
