import { type Pod, podFullName } from '@node-agent/pod-spec';
import type { ManifestReading } from './manifest.ts';
import type { ManifestProblem } from './problem.ts';

/** Current pods and problems of a file or URL. */
export interface ManifestState {
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/** Returns whether a reading has no problem other than warnings. */
export function isGood({ problems }: ManifestReading): boolean {
  return problems.every(({ isWarning }) => isWarning === true);
}

/**
 * Returns the state after a reading (F2). If the reading has a problem, no pod is removed: pods missing from it keep
 * their previous version. A reading without problems, or with warnings only, replaces the state.
 */
export function keepLastGood(previous: ManifestState | undefined, reading: ManifestReading): ManifestState {
  if (isGood(reading) || previous === undefined) return reading;
  const named = new Set(reading.pods.map(podFullName));
  const kept = previous.pods.filter((pod) => !named.has(podFullName(pod)));
  return { pods: [...reading.pods, ...kept], problems: reading.problems };
}

/**
 * Returns all pods of several manifests, in the order of the manifests' names. If several pods have the same full name
 * or UID, the first is used, and each other one is reported as a problem. The order makes the choice the same after a
 * restart.
 */
export function mergeManifests(manifests: ReadonlyMap<string, ManifestState>): ManifestState {
  const pods: Pod[] = [];
  const problems: ManifestProblem[] = [];
  const owners = new Map<string, string>();
  for (const [source, state] of [...manifests].sort(([a], [b]) => (a < b ? -1 : 1))) {
    problems.push(...state.problems);
    for (const pod of state.pods) {
      const keys = [`name ${podFullName(pod)}`, `uid ${pod.metadata.uid}`];
      const taken = keys.find((key) => owners.has(key));
      if (taken !== undefined) {
        const message = `pod ${podFullName(pod)} is ignored: ${owners.get(taken)} has a pod of the same ${taken}`;
        problems.push({ source, field: taken.startsWith('name') ? 'metadata.name' : 'metadata.uid', message });
        continue;
      }
      for (const key of keys) owners.set(key, source);
      pods.push(pod);
    }
  }
  return { pods, problems };
}
