import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';
import { FOREIGN_CONDITION, GATE_CONDITION } from '../scenario/manifest.ts';
import { longestHooksMs } from '../scenario/plans.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { watchSilenceMs } from './watch-silence.ts';

/** Maximum time until the API shows a change of a container, including request delays but not outages. */
const LATE_MS = 60_000;
/** A container that has run for this time is shown as running if no fault prevented that for the same time. */
const SHOWN_MS = 45_000;

/** S4: conditions of other owners are kept. */
export const foreignConditionsStay: Invariant = invariant('S4', ['apiRequest'], () => (observation) => {
  if (observation.kind !== 'apiRequest' || observation.shown === undefined || observation.shown.mirror)
    return undefined;
  const { uid, conditions } = observation.shown;
  return judged(conditions[FOREIGN_CONDITION] !== 'True' && `pod ${uid} has lost the condition ${FOREIGN_CONDITION}`);
});

/**
 * S6: Ready becomes True only after all containers have run. Ready becomes False only because a container has exited,
 * or because a container that is being stopped fails its readiness probe. Both rules hold across kubelet restarts.
 */
export const readyHasCause: Invariant = invariant('S6', ['containerSignalled', 'containerEnded', 'apiRequest'], () => {
  const ready = new Set<string>();
  const readyAtMs = new Map<string, number>();
  const unfitAtMs = new Map<string, number>();
  return (observation, facts) => {
    if (makesUnfit(observation)) unfitAtMs.set(observation.life.podUid, observation.atMs);
    if (observation.kind !== 'apiRequest' || observation.shown === undefined) return undefined;
    const { uid, mirror, conditions } = observation.shown;
    if (mirror) return undefined;
    const isReady = conditions.Ready === 'True';
    if (isReady === ready.has(uid)) return isReady ? 'ok' : undefined;
    if (isReady) {
      ready.add(uid);
      readyAtMs.set(uid, observation.atMs);
      const idle = facts.pods.planOf(uid)?.containers.find(({ name }) => facts.lives.of(uid, name).length === 0);
      return judged(idle && `pod ${uid} is shown as ready although its container ${idle.name} has never run`);
    }
    ready.delete(uid);
    // A container that exited shortly before may still have been shown as ready. A container that exited while the
    // runtime was down may have been shown as ready for the whole outage.
    const wasReadyAtMs = readyAtMs.get(uid) ?? 0;
    const unseen = facts.runtimeUp && wasReadyAtMs - facts.runtimeChangedAtMs < LATE_MS;
    const sinceMs = unseen ? Math.min(facts.runtimeDownAtMs, wasReadyAtMs) : wasReadyAtMs;
    const isUnfit = (unfitAtMs.get(uid) ?? Number.NEGATIVE_INFINITY) >= sinceMs - LATE_MS;
    // A kubelet that has started since then takes the pod's status from the API, which may be stale.
    const began = facts.kubeletStartedAtMs;
    const isOld = began > wasReadyAtMs && facts.api.wasStaleSince(began);
    const cause = isUnfit || isOld || facts.wasEnded(uid) || !facts.pods.wanted.has(uid);
    return judged(!cause && `pod ${uid} is no longer shown as ready although nothing has happened to it`);
  };
});

/** Reports whether a container has exited, or is being stopped and fails its readiness probe from then on. */
function makesUnfit(
  observation: Observation,
): observation is Extract<Observation, { readonly kind: 'containerSignalled' | 'containerEnded' }> {
  if (observation.kind === 'containerEnded') return true;
  return observation.kind === 'containerSignalled' && observation.life.plan.probes?.readiness?.drains === true;
}

/**
 * S7: Ready is True if and only if every container is ready and every readiness gate is True. A missing gate condition
 * counts as False.
 */
export const readyIsAllReady: Invariant = invariant('S7', ['apiRequest', 'health'], () => (observation, facts) => {
  if (observation.kind === 'apiRequest' && observation.shown !== undefined) {
    const { uid, conditions } = observation.shown;
    if (facts.pods.planOf(uid)?.gate !== true || conditions.Ready === undefined) return undefined;
    const early = conditions.Ready === 'True' && conditions[GATE_CONDITION] !== 'True';
    return judged(early && `pod ${uid} is shown as ready although its readiness gate has no condition`);
  }
  if (observation.kind !== 'health' || observation.cluster === undefined || !facts.kubeletUp) return undefined;
  const { kubeletStartedAtMs, runtimeChangedAtMs, ownFaultsOverAtMs } = facts;
  // A hanging call may hide the state of a pod until the call ends.
  const troubleAtMs = Math.max(facts.api.troubleAtMs, kubeletStartedAtMs, runtimeChangedAtMs, ownFaultsOverAtMs);
  if (facts.api.inTrouble || !facts.runtimeUp || !facts.faultsEnded) return undefined;
  if (observation.atMs - troubleAtMs < SHOWN_MS) return undefined;
  const late = observation.cluster.shown.find((shown) => isLate(shown, facts));
  return judged(late && `pod ${late.uid} is not shown as ready although all its containers have been running for long`);
});

/**
 * Maximum time for which an exited container may be reported as running if nothing prevents an update. The time is
 * longer than a relist and a retried sync.
 */
const ENDED_MS = 15_000;

/** S7: an exited container is not reported as running, even while other containers of its pod are being stopped. */
export const endedAreShown: Invariant = invariant('S7', ['kubeletStarted', 'status', 'health'], () => {
  const said = new Map<string, readonly string[]>();
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') said.clear();
    if (observation.kind === 'status') {
      const { pod, status } = observation.status;
      const { containerStatuses = [], initContainerStatuses = [] } = status;
      const running = [...containerStatuses, ...initContainerStatuses].filter(({ state }) => state?.running != null);
      said.set(
        pod.metadata.uid,
        running.map(({ containerID }) => bareContainerId(containerID)),
      );
    }
    if (observation.kind !== 'health' || !facts.kubeletUp || !facts.runtimeUp) return undefined;
    const { kubeletStartedAtMs, runtimeChangedAtMs, ownFaultsOverAtMs, api } = facts;
    const troubleAtMs = Math.max(kubeletStartedAtMs, runtimeChangedAtMs, ownFaultsOverAtMs, api.troubleAtMs);
    if (observation.atMs - troubleAtMs < SHOWN_MS || api.inTrouble) return undefined;
    // Only terminating pods are judged: a sync that waits for an image or a hook does not update the status.
    const ending = [...said].filter(([uid]) => facts.isBeingEnded(uid));
    const lives = ending.flatMap(([, ids]) => ids.flatMap((id) => facts.lives.byId(id) ?? []));
    const old = lives.find(({ endedAtMs }) => endedAtMs !== undefined && observation.atMs - endedAtMs > ENDED_MS);
    if (old !== undefined) {
      const agoMs = observation.atMs - (old.endedAtMs ?? 0);
      return {
        wrong: `container ${old.name} of pod ${old.podUid} is reported as running although it exited ${agoMs} ms ago`,
      };
    }
    return lives.length > 0 ? 'ok' : undefined;
  };
});

/** Reports whether a pod has run long enough to be shown as ready, and is not. */
function isLate({ uid, mirror, conditions }: ShownPod, facts: Facts): boolean {
  const pod = facts.pods.wanted.get(uid);
  if (pod === undefined || mirror || conditions.Ready === 'True' || facts.wasEnded(uid)) return false;
  if (pod.gate === true && conditions[GATE_CONDITION] !== 'True') return false;
  // Readiness gates are observed through a watch, which may hang since a fault of the API server. Everything else the
  // kubelet knows without the API.
  const unseen = pod.gate === true && facts.nowMs - facts.api.troubleAtMs < watchSilenceMs(facts);
  if (unseen && conditions.ContainersReady === 'True') return false;
  const settled = (name: string): boolean => {
    const last = facts.lives.of(uid, name).at(-1);
    // Containers are shown as running only after the hooks of their pod have completed.
    const shownMs = SHOWN_MS + longestHooksMs(pod);
    return last !== undefined && last.endedAtMs === undefined && facts.nowMs - last.startedAtMs > shownMs;
  };
  return [...pod.containers, ...pod.init.filter(({ restartPolicy }) => restartPolicy === 'Always')].every(({ name }) =>
    settled(name),
  );
}
