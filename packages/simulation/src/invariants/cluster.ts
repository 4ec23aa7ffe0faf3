import type { Facts } from '../facts/facts.ts';
import type { ClusterLook } from '../observation.ts';
import { NODE_NAME } from '../scenario/manifest.ts';
import { longestHooksMs, mayRestart, type PodPlan, restartPolicyOf } from '../scenario/plans.ts';
import { MAX_REQUEST_DELAY_MS } from '../world/cluster-api.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { mountedFault } from './objects.ts';
import { hasFailedToStart } from './stops.ts';
import { watchSilenceMs } from './watch-silence.ts';

/** A status that has not changed for so long must be what the API server shows, where nothing is in its way. */
const SHOWN_MS = 45_000;
/** A lease is renewed every 10 s, give or take; so long after trouble it must have its beat again. */
const LEASE_SETTLED_MS = 45_000;
const LEASE_LATE_MS = 16_000;
/** Longer than any fault of the runtime lasts. */
const ALONE_LATE_MS = 150_000;

/** S2 in the API: no terminal phase reaches it until all containers have stopped, and none starts again. */
export const terminalIsShownLate: Invariant = invariant('S2', ['containerStarted', 'apiRequest'], () => {
  const terminal = new Set<string>();
  return (observation, facts) => {
    if (observation.kind === 'containerStarted') {
      const { podUid, name } = observation.life;
      // A kubelet that began with a list of a cache that was behind knows of no end yet, as upstream's.
      if (!terminal.has(podUid) || facts.api.wasStaleSince(facts.kubeletStartedAtMs)) return undefined;
      return { wrong: `container ${name} of pod ${podUid} starts, which the API shows as ended` };
    }
    if (observation.kind !== 'apiRequest' || observation.shown === undefined) return undefined;
    const { uid, phase, mirror } = observation.shown;
    if (mirror || (phase !== 'Succeeded' && phase !== 'Failed') || terminal.has(uid)) return undefined;
    terminal.add(uid);
    const [life] = facts.lives.runningOf(uid);
    return judged(life && `the API shows pod ${uid} as ${phase} while container ${life.name} runs`);
  };
});

/** S5: the pod object is deleted only after its containers, its sandbox and its volumes are gone. */
export const deletedLast: Invariant = invariant('S5', ['apiRequest'], () => (observation, facts) => {
  if (observation.kind !== 'apiRequest') return undefined;
  const { verb, resource, status, uid, name } = observation.request;
  if (verb !== 'delete' || resource !== 'pods' || status !== 200 || uid === undefined) return undefined;
  if (!facts.pods.isApiPod(uid)) return undefined;
  if (facts.pods.wanted.has(uid))
    return { wrong: `the object of pod ${uid} (${name}) is deleted, and nobody asked for it` };
  const [life] = facts.lives.runningOf(uid);
  if (life !== undefined) return { wrong: `the object of pod ${uid} is deleted while container ${life.name} runs` };
  const volume = observation.paths.find((path) =>
    path.startsWith(`${ROOT_DIRECTORY}/pods/${uid}/volumes/kubernetes.io~empty-dir/`),
  );
  return judged(volume && `the object of pod ${uid} is deleted, and ${volume} is left`);
});

/**
 * F3: a mirror pod is not deleted, for ever or for another version's, while its static pod ends, or is yet to be ended as the
 * kubelet knows it from the runtime alone; in the end there is one for each static pod, and no other.
 */
export const mirrors: Invariant = invariant('F3', ['kubeletStarted', 'stepBegan', 'end', 'apiRequest'], () => {
  const endingSinceMs = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') endingSinceMs.clear();
    if (observation.kind === 'stepBegan') {
      const { step, uid, atMs } = observation;
      if (step === 'syncPod') endingSinceMs.delete(uid);
      else if (!endingSinceMs.has(uid)) endingSinceMs.set(uid, atMs);
    }
    if (observation.kind === 'end' && observation.look.cluster !== undefined) {
      return judged(mirrorFault(facts, observation.look.cluster));
    }
    if (observation.kind !== 'apiRequest') return undefined;
    const { verb, resource, status, name } = observation.request;
    const isMirror = resource === 'pods' && name.endsWith(`-${NODE_NAME}`);
    if (verb !== 'delete' || !isMirror || status !== 200) return undefined;
    const own = name.slice(0, -NODE_NAME.length - 1);
    // A request that a fault delays was sent before.
    const troubled = facts.api.inTrouble || observation.atMs - facts.api.troubleAtMs < MAX_REQUEST_DELAY_MS;
    const sentAtMs = observation.atMs - (troubled ? MAX_REQUEST_DELAY_MS : 0);
    const life = facts.lives.running.find(({ podUid }) => {
      if (facts.pods.planOf(podUid)?.name !== own || facts.pods.isApiPod(podUid)) return false;
      return (
        (endingSinceMs.get(podUid) ?? Number.POSITIVE_INFINITY) <= sentAtMs ||
        (!facts.isKnownToKubelet(podUid) && !facts.pods.wanted.has(podUid))
      );
    });
    return judged(life && `mirror pod ${name} is deleted while container ${life.name} of ${life.podUid} still runs`);
  };
});

/** S8, K3: what the kubelet says is what the API shows, seconds after nothing is in the way any more. */
export const newestIsShown: Invariant = invariant('S8', ['status', 'health'], () => {
  const changedAtMs = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'status') changedAtMs.set(observation.status.pod.metadata.uid, observation.atMs);
    if (observation.kind !== 'health' || observation.cluster === undefined) return undefined;
    const quietMs = observation.atMs - Math.max(facts.api.troubleAtMs, facts.kubeletStartedAtMs);
    if (quietMs < SHOWN_MS || facts.api.inTrouble) return undefined;
    // How a pod has ended is not shown before it has (S2), which waits for a runtime that is away, or for a call that hangs.
    const runtimeAway = !facts.runtimeUp || observation.atMs - facts.runtimeChangedAtMs < SHOWN_MS;
    const isHeldUp = runtimeAway || observation.atMs - facts.ownFaultsOverAtMs < SHOWN_MS;
    const settled = (uid: string, phase: string | undefined): boolean =>
      observation.atMs - (changedAtMs.get(uid) ?? 0) > SHOWN_MS &&
      !((isHeldUp || facts.isBeingEnded(uid)) && (phase === 'Failed' || phase === 'Succeeded'));
    return judged(shownFault(facts, observation.cluster, settled));
  };
});

/** K3: while the API server is away, what ends is started again as ever, by a kubelet that knows of it. */
export const goesOnAlone: Invariant = invariant('K3', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || !facts.api.away || !facts.kubeletUp || !facts.runtimeUp) return undefined;
  // A kubelet that was started meanwhile has no word of which pods there are.
  if (facts.kubeletStartedAtMs > facts.api.awaySinceMs) return undefined;
  const sinceMs = Math.max(facts.api.awaySinceMs, facts.runtimeChangedAtMs);
  let seen = false;
  for (const pod of facts.pods.wanted.values()) {
    // One that was let in before it was known that it asks for devices may never get them.
    if (facts.wasEnded(pod.uid) || hasToReadItsObjects(pod, facts) || facts.devices.wasLetInBlindly(pod)) continue;
    for (const plan of pod.init.length === 0 && !facts.objects.isHeldBack(pod) ? pod.containers : []) {
      const last = facts.lives.of(pod.uid, plan.name).at(-1);
      if (last === undefined) continue;
      seen = true;
      if (last.endedAtMs === undefined || !mayRestart(pod, plan, last)) continue;
      if (hasFailedToStart(pod, plan, facts)) continue;
      const agoMs = observation.atMs - Math.max(last.endedAtMs, sinceMs);
      if (agoMs <= facts.node.backOff.maxMs + longestHooksMs(pod) + ALONE_LATE_MS) continue;
      return { wrong: `container ${plan.name} of pod ${pod.uid} ended ${agoMs} ms ago, and waits for the API server` };
    }
  }
  return seen ? 'ok' : undefined;
});

/** Whether this kubelet has begun nothing of a pod that has objects: it may have had no time to read them while the API server was there. */
function hasToReadItsObjects({ uid, objects, containers }: PodPlan, { lives, kubeletStartedAtMs }: Facts): boolean {
  const runs = containers.flatMap(({ name }) => lives.of(uid, name));
  return objects !== undefined && runs.every(({ startedAtMs }) => startedAtMs < kubeletStartedAtMs);
}

/** N6: the lease keeps its beat, whatever the runtime does. */
export const leaseBeats: Invariant = invariant('N6', ['apiRequest', 'health'], () => {
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  return (observation, facts) => {
    if (observation.kind === 'apiRequest') {
      const { verb, resource, status } = observation.request;
      if (resource === 'leases' && (verb === 'update' || verb === 'create') && (status ?? 500) < 300)
        renewedAtMs = observation.atMs;
      return undefined;
    }
    if (observation.kind !== 'health' || observation.cluster === undefined) return undefined;
    if (facts.api.inTrouble || !facts.kubeletUp) return undefined;
    const settledMs = observation.atMs - Math.max(facts.api.troubleAtMs, facts.kubeletStartedAtMs) - LEASE_SETTLED_MS;
    if (settledMs < 0) return undefined;
    const agoMs = observation.atMs - renewedAtMs;
    // That all the API server had is lost shows in a watch, which may hang with nothing to be seen of it.
    if (!observation.cluster.registered)
      return settledMs < watchSilenceMs(facts) ? undefined : { wrong: 'the node is not registered' };
    return judged(agoMs > LEASE_LATE_MS && `the lease was renewed ${agoMs} ms ago`);
  };
});

/** What of the API server's pods is not as it is to be in the end. */
export function clusterFault(facts: Facts, look: ClusterLook): string | undefined {
  const stray = look.shown.find(({ uid, mirror }) => !mirror && !facts.pods.wanted.has(uid));
  if (stray !== undefined) return `the object of pod ${stray.uid} (${stray.name}) is left in the API`;
  if (!look.registered) return 'the node is not registered';
  return mirrorFault(facts, look) ?? shownFault(facts, look, () => true) ?? mountedFault(facts, look);
}

function mirrorFault(facts: Facts, { shown, said }: ClusterLook): string | undefined {
  const mirrored = new Set(shown.filter(({ mirror }) => mirror).map(({ name }) => name));
  const statics = [...facts.pods.wanted.values()].filter(({ uid }) => !facts.pods.isApiPod(uid));
  for (const { name, uid } of statics) {
    // One that the node has refused may have none: no worker has ever had it.
    if (facts.pods.isUnsure(uid) || facts.wasEnded(uid)) continue;
    const object = shown.find((one) => one.mirror && one.name === `${name}-${NODE_NAME}`);
    const own = said.find((one) => one.uid === uid);
    const isOnly = statics.filter((pod) => pod.name === name).length === 1;
    if (isOnly && !endedForGood(uid, facts) && object && own && object.phase !== own.phase) {
      return `the mirror pod of ${name} is ${object.phase}, and the kubelet says that it is ${own.phase}`;
    }
    if (!mirrored.delete(`${name}-${NODE_NAME}`) && statics.filter((pod) => pod.name === name).length === 1) {
      return `static pod ${name} has no mirror pod`;
    }
  }
  // One whose manifest is broken, and that the kubelet may remember, has its mirror pod.
  const unsure = facts.pods.knownUids.filter((uid) => facts.pods.isUnsure(uid));
  const remembered = new Set(unsure.map((uid) => `${facts.pods.planOf(uid)?.name}-${NODE_NAME}`));
  const left = [...mirrored].find((name) => !remembered.has(name));
  const gone = left !== undefined && statics.every(({ name }) => left !== `${name}-${NODE_NAME}`);
  return gone ? `mirror pod ${left} is left, and its static pod is gone` : undefined;
}

/** Whether an API server that shows how its containers ended for a shutdown refuses to show that they run again. */
function endedForGood(uid: string, { pods, shutdown }: Facts): boolean {
  const pod = pods.planOf(uid);
  if (pod === undefined || !shutdown.wasTold(uid)) return false;
  return [...pod.init, ...pod.containers].some((container) => restartPolicyOf(pod, container) !== 'Always');
}

function shownFault(
  facts: Facts,
  { shown, said }: ClusterLook,
  settled: (uid: string, phase: string | undefined) => boolean,
): string | undefined {
  for (const { uid, phase, containers } of said) {
    if (!facts.pods.isApiPod(uid) || !facts.pods.wanted.has(uid) || !settled(uid, phase)) continue;
    const object = shown.find((one) => one.uid === uid);
    if (object === undefined) return `the object of pod ${uid} is gone`;
    const same =
      object.containers === containers || (wasReadOld(facts, uid) && hasMoreRestarts(object.containers, containers));
    if (object.phase !== phase || !same) {
      return `the API shows pod ${uid} as ${object.phase} [${object.containers}], the kubelet says ${phase} [${containers}]`;
    }
  }
  return undefined;
}

/**
 * Whether the kubelet may say of a pod what an old read says of its restarts: it refused it, and so never looked at it; or it began with
 * such reads, and the runtime has forgotten the rest.
 */
function wasReadOld({ api, resources, kubeletStartedAtMs }: Facts, uid: string): boolean {
  return (resources.isRefused(uid) && api.staleUntilMs > 0) || api.wasStaleSince(kubeletStartedAtMs);
}

const RESTARTS = / \d+(?= \S*$)/;

/** Whether containers are the same but for restarts, of which the API has more: they do not go back (S3). */
function hasMoreRestarts(shown: string, said: string): boolean {
  const [inApi, own] = [shown.split('; '), said.split('; ')];
  if (inApi.length !== own.length) return false;
  return inApi.every((text, index) => {
    const other = own[index] ?? '';
    return text.replace(RESTARTS, '') === other.replace(RESTARTS, '') && restartsIn(text) >= restartsIn(other);
  });
}

function restartsIn(text: string): number {
  return Number(RESTARTS.exec(text)?.[0]);
}
