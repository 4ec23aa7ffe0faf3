import type { Facts } from '../facts/facts.ts';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { isOver } from './stops.ts';

/**
 * N5: the cgroup of a pod is removed only after its containers and volumes, after all sources have reported, and only
 * if the pod must not run.
 */
export const groupsGoLast: Invariant = invariant('N5', ['groupRemoved'], () => (observation, facts) => {
  if (observation.kind !== 'groupRemoved') return undefined;
  const { uid, volumes } = observation;
  const subject = `the cgroup of pod ${uid} was removed`;
  const [life] = facts.lives.runningOf(uid);
  if (life !== undefined) return { wrong: `${subject} while its container ${life.name} is running` };
  if (volumes.length > 0) return { wrong: `${subject} before ${volumes[0]}` };
  if (!facts.sourcesReady && !facts.isKnownToKubelet(uid))
    return { wrong: `${subject} before all sources have reported` };
  return judged(isToRun(uid, facts) && `${subject} although the pod must run`);
});

/** Reports whether the pod must be running: there was no reason to terminate the pod since its last sync. */
function isToRun(uid: string, facts: Facts): boolean {
  if (facts.pods.isUnsure(uid)) return false;
  if (facts.resources.isOver(uid) || facts.wasEnded(uid) || facts.api.hasEnded(uid)) return false;
  const pod = facts.pods.wanted.get(uid);
  if (pod === undefined || isOver(pod, facts) || facts.pods.hiddenUntilMs >= facts.pods.lastUnwantedAtMs(uid))
    return false;
  // The kubelet detects the removal of a pod with a delay.
  const began = facts.syncBeganAtMs(uid);
  const sinceMs = Number.isFinite(began) ? began : facts.kubeletStartedAtMs;
  return facts.pods.lastUnwantedAtMs(uid) < sinceMs - SEEN_MS;
}

/** N5: a pod object is deleted only after the pod's cgroup. */
export const groupsGoBeforeObjects: Invariant = invariant('N5', ['apiRequest'], () => (observation, facts) => {
  if (observation.kind !== 'apiRequest' || facts.node.resources === undefined) return undefined;
  const { verb, resource, status, uid, name } = observation.request;
  if (verb !== 'delete' || resource !== 'pods' || status !== 200 || uid === undefined) return undefined;
  if (!facts.pods.isApiPod(uid)) return undefined;
  return judged(
    observation.groups.includes(uid) && `the object of pod ${uid} (${name}) was deleted although its cgroup exists`,
  );
});
