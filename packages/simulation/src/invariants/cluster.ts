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

/** Time after which the API server must show an unchanged status if nothing prevents it. */
const SHOWN_MS = 45_000;
/**
 * Time by which the claims of a rejected pod are unprepared: the period with which the DRA manager looks for claims of
 * pods that are not active. The terminal phase is shown only after that (N11).
 */
const CLAIM_FREED_MS = 60_000;
/** Time after a fault by which the lease must be renewed regularly again. A renewal is due about every 10 s. */
const LEASE_SETTLED_MS = 45_000;
const LEASE_LATE_MS = 16_000;
/** Maximum delay of a restart during an outage of the API server: longer than any fault of the runtime lasts. */
const ALONE_LATE_MS = 150_000;

/**
 * S2 in the API: no terminal phase reaches the API server until all containers have stopped, and no container starts
 * afterwards.
 */
export const terminalIsShownLate: Invariant = invariant('S2', ['containerStarted', 'apiRequest'], () => {
  const terminal = new Set<string>();
  return (observation, facts) => {
    if (observation.kind === 'containerStarted') {
      const { podUid, name } = observation.life;
      // A kubelet that started with a stale list does not know the terminal phase, and neither does upstream's.
      if (!terminal.has(podUid) || facts.api.wasStaleSince(facts.kubeletStartedAtMs)) return undefined;
      return { wrong: `container ${name} of pod ${podUid} started although the API shows a terminal phase of the pod` };
    }
    if (observation.kind !== 'apiRequest' || observation.shown === undefined) return undefined;
    const { uid, phase, mirror } = observation.shown;
    if (mirror || (phase !== 'Succeeded' && phase !== 'Failed') || terminal.has(uid)) return undefined;
    terminal.add(uid);
    const [life] = facts.lives.runningOf(uid);
    return judged(life && `the API shows pod ${uid} as ${phase} while container ${life.name} is running`);
  };
});

/** S5: a pod object is deleted only after the pod's containers, sandbox and volumes are gone. */
export const deletedLast: Invariant = invariant('S5', ['apiRequest'], () => (observation, facts) => {
  if (observation.kind !== 'apiRequest') return undefined;
  const { verb, resource, status, uid, name } = observation.request;
  if (verb !== 'delete' || resource !== 'pods' || status !== 200 || uid === undefined) return undefined;
  if (!facts.pods.isApiPod(uid)) return undefined;
  if (facts.pods.wanted.has(uid))
    return { wrong: `the object of pod ${uid} (${name}) was deleted although the pod is wanted` };
  const [life] = facts.lives.runningOf(uid);
  if (life !== undefined)
    return { wrong: `the object of pod ${uid} was deleted while container ${life.name} is running` };
  const volume = observation.paths.find((path) =>
    path.startsWith(`${ROOT_DIRECTORY}/pods/${uid}/volumes/kubernetes.io~empty-dir/`),
  );
  return judged(volume && `the object of pod ${uid} was deleted although ${volume} exists`);
});

/**
 * F3: a mirror pod is not deleted or replaced while its static pod is terminating, or while the runtime has containers
 * of the static pod that must still be terminated. In the final state each static pod has a mirror pod, and there are
 * no other mirror pods.
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
    // A fault may have delayed the request, so the kubelet may have sent the request earlier.
    const troubled = facts.api.inTrouble || observation.atMs - facts.api.troubleAtMs < MAX_REQUEST_DELAY_MS;
    const sentAtMs = observation.atMs - (troubled ? MAX_REQUEST_DELAY_MS : 0);
    const life = facts.lives.running.find(({ podUid }) => {
      if (facts.pods.planOf(podUid)?.name !== own || facts.pods.isApiPod(podUid)) return false;
      return (
        (endingSinceMs.get(podUid) ?? Number.POSITIVE_INFINITY) <= sentAtMs ||
        (!facts.isKnownToKubelet(podUid) && !facts.pods.wanted.has(podUid))
      );
    });
    return judged(life && `mirror pod ${name} was deleted while container ${life.name} of ${life.podUid} is running`);
  };
});

/** S8, K3: the API shows the status that the kubelet reports within seconds after all obstacles have ended. */
export const newestIsShown: Invariant = invariant('S8', ['status', 'health'], () => {
  const changedAtMs = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'status') changedAtMs.set(observation.status.pod.metadata.uid, observation.atMs);
    if (observation.kind !== 'health' || observation.cluster === undefined) return undefined;
    const quietMs = observation.atMs - Math.max(facts.api.troubleAtMs, facts.kubeletStartedAtMs);
    if (quietMs < SHOWN_MS || facts.api.inTrouble) return undefined;
    // A terminal phase is shown only after the termination (S2), which waits for an unreachable runtime or a hanging
    // call.
    const runtimeAway = !facts.runtimeUp || observation.atMs - facts.runtimeChangedAtMs < SHOWN_MS;
    const isHeldUp = runtimeAway || observation.atMs - facts.ownFaultsOverAtMs < SHOWN_MS;
    const settled = (uid: string, phase: string | undefined): boolean => {
      const isOver = isTerminal(phase);
      const longestMs = SHOWN_MS + (isOver && facts.pods.planOf(uid)?.claim ? CLAIM_FREED_MS : 0);
      if (observation.atMs - (changedAtMs.get(uid) ?? 0) <= longestMs) return false;
      return !(isOver && (isHeldUp || facts.isBeingEnded(uid)));
    };
    return judged(shownFault(facts, observation.cluster, settled));
  };
});

/** K3: while the API server is unreachable, a kubelet restarts exited containers of the pods that it knows. */
export const goesOnAlone: Invariant = invariant('K3', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || !facts.api.away || !facts.kubeletUp || !facts.runtimeUp) return undefined;
  // A kubelet that was started during the outage does not know the pods.
  if (facts.kubeletStartedAtMs > facts.api.awaySinceMs) return undefined;
  const sinceMs = Math.max(facts.api.awaySinceMs, facts.runtimeChangedAtMs);
  let seen = false;
  for (const pod of facts.pods.wanted.values()) {
    // A pod that was admitted before its resources were known to be devices may never get these devices.
    if (facts.wasEnded(pod.uid) || hasToReadItsObjects(pod, facts) || facts.devices.wasLetInBlindly(pod)) continue;
    for (const plan of pod.init.length === 0 && !facts.objects.isHeldBack(pod) ? pod.containers : []) {
      const last = facts.lives.of(pod.uid, plan.name).at(-1);
      if (last === undefined) continue;
      seen = true;
      if (last.endedAtMs === undefined || !mayRestart(pod, plan, last)) continue;
      if (hasFailedToStart(pod, plan, facts)) continue;
      const agoMs = observation.atMs - Math.max(last.endedAtMs, sinceMs);
      if (agoMs <= facts.node.backOff.maxMs + longestHooksMs(pod) + ALONE_LATE_MS) continue;
      return {
        wrong: `container ${plan.name} of pod ${pod.uid} ended ${agoMs} ms ago and was not restarted during an outage of the API server`,
      };
    }
  }
  return seen ? 'ok' : undefined;
});

/**
 * Reports whether the running kubelet has not started any container of a pod with secrets, config maps or claims. The
 * kubelet may have been unable to read these objects before the outage.
 */
function hasToReadItsObjects(
  { uid, objects, csi, containers }: PodPlan,
  { lives, kubeletStartedAtMs }: Facts,
): boolean {
  const runs = containers.flatMap(({ name }) => lives.of(uid, name));
  return (
    (objects !== undefined || csi !== undefined) && runs.every(({ startedAtMs }) => startedAtMs < kubeletStartedAtMs)
  );
}

/** N6: the lease is renewed regularly, regardless of the runtime. */
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
    // The loss of the API server's store is only noticed through a watch, which may hang without a visible error.
    if (!observation.cluster.registered)
      return settledMs < watchSilenceMs(facts) ? undefined : { wrong: 'the node is not registered' };
    return judged(agoMs > LEASE_LATE_MS && `the lease was last renewed ${agoMs} ms ago`);
  };
});

/** Returns the first difference between the API server's pods and the desired final state. */
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
    // A rejected static pod may have no mirror pod, because it never had a pod worker.
    if (facts.pods.isUnsure(uid) || facts.wasEnded(uid)) continue;
    const object = shown.find((one) => one.mirror && one.name === `${name}-${NODE_NAME}`);
    const own = said.find((one) => one.uid === uid);
    const isOnly = statics.filter((pod) => pod.name === name).length === 1;
    if (isOnly && !endedForGood(uid, facts) && object && own && object.phase !== own.phase) {
      return `the mirror pod of ${name} is ${object.phase}, but the kubelet reports ${own.phase}`;
    }
    if (!mirrored.delete(`${name}-${NODE_NAME}`) && statics.filter((pod) => pod.name === name).length === 1) {
      return `static pod ${name} has no mirror pod`;
    }
  }
  // A static pod with a malformed manifest, which the kubelet may have stored, has a mirror pod.
  const unsure = facts.pods.knownUids.filter((uid) => facts.pods.isUnsure(uid));
  const remembered = new Set(unsure.map((uid) => `${facts.pods.planOf(uid)?.name}-${NODE_NAME}`));
  const left = [...mirrored].find((name) => !remembered.has(name));
  const gone = left !== undefined && statics.every(({ name }) => left !== `${name}-${NODE_NAME}`);
  return gone ? `mirror pod ${left} is left although its static pod is gone` : undefined;
}

/**
 * Reports whether the API server rejects a status of running containers, because the API shows how the containers ended
 * for a shutdown.
 */
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
    const isOld = wasReadOld(facts, uid);
    // A kubelet that has started with a stale read may report another end than the one that the API keeps (S1).
    if (isOld && isTerminal(object.phase) && isTerminal(phase)) continue;
    const [inApi, own] = withoutRepeatedInit(facts.pods.planOf(uid), object.containers, containers);
    const same = inApi === own || (isOld && hasMoreRestarts(inApi, own));
    if (object.phase !== phase || !same) {
      return `the API shows pod ${uid} as ${object.phase} [${object.containers}], but the kubelet reports ${phase} [${containers}]`;
    }
  }
  return undefined;
}

function isTerminal(phase: string | undefined): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/**
 * Reports whether the kubelet may report restart counts from a stale read. This can happen if the kubelet rejected the
 * pod and never inspected its containers. It can also happen if the kubelet started with stale reads and the runtime
 * has no older records.
 */
function wasReadOld({ api, resources, kubeletStartedAtMs }: Facts, uid: string): boolean {
  return (resources.isRefused(uid) && api.staleUntilMs > 0) || api.wasStaleSince(kubeletStartedAtMs);
}

/**
 * Drops the init containers that run again in a new sandbox although the API shows how they ended: the API server
 * rejects any other status of such containers.
 */
function withoutRepeatedInit(pod: PodPlan | undefined, shown: string, said: string): readonly [string, string] {
  const hasEnded = (text: string, name: string): boolean =>
    text.split('; ').some((one) => one.startsWith(`${name} `) && one.endsWith(' terminated'));
  const repeated = (pod?.init ?? []).filter(
    (container) =>
      pod !== undefined &&
      restartPolicyOf(pod, container) !== 'Always' &&
      hasEnded(shown, container.name) &&
      !hasEnded(said, container.name),
  );
  const others = (text: string): string =>
    text
      .split('; ')
      .filter((one) => repeated.every(({ name }) => !one.startsWith(`${name} `)))
      .join('; ');
  return [others(shown), others(said)];
}

const RESTARTS = / \d+(?= \S*$)/;

/**
 * Reports whether two texts of container statuses are equal except that the API has higher restart counts, which must
 * not decrease (S3).
 */
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
