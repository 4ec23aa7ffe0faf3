import { type Pod, podFullName } from '@node-agent/pod-spec';
import type { ManifestReading } from './manifest.ts';
import type { ManifestProblem } from './problem.ts';

/** What one file or URL stands for at present. */
export interface ManifestState {
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/** Whether nothing is wrong with a reading that keeps a pod from running as it says. */
export function isGood({ problems }: ManifestReading): boolean {
  return problems.every(({ isWarning }) => isWarning === true);
}

/**
 * The state after a reading (F2): where the reading has any problem, no pod goes; what it does not say anew stays as
 * it was. A reading without a problem, or with warnings alone, is taken as it is.
 */
export function keepLastGood(previous: ManifestState | undefined, reading: ManifestReading): ManifestState {
  if (isGood(reading) || previous === undefined) return reading;
  const named = new Set(reading.pods.map(podFullName));
  const kept = previous.pods.filter((pod) => !named.has(podFullName(pod)));
  return { pods: [...reading.pods, ...kept], problems: reading.problems };
}

/**
 * All pods of several manifests, in the order of their names. Of two pods with one full name or one UID the first
 * counts, and the other one is a problem: so it is the same one after a restart.
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
