import type { PodStatus } from '@node-agent/pod-spec';
import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import { READINESS_FAILURE_THRESHOLD } from '../scenario/probe-plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** Maximum delay of a probe beyond its period, including the probe's timeout. */
const PROBE_LATE_MS = 2500;
/** Maximum delay until the kubelet shows probe results, including the timeout of the last probe. */
const SHOWN_LATE_MS = 3000;
/** Minimum grace period: 2 s per container, and 2 s more for a sidecar. */
const LEAST_MS = 4000;
/** Maximum time for the kubelet to detect that containers have exited and to finish the termination. */
const END_LATE_MS = 8000;

/**
 * Reports whether the running kubelet is terminating the pod, and no fault has disturbed the node or the runtime since
 * the start of the termination.
 */
function endsUndisturbed(uid: string, facts: Facts): boolean {
  if (!facts.kubeletUp || !facts.runtimeUp || !facts.isBeingEnded(uid)) return false;
  // The termination waits until the DRA driver has unprepared the claim.
  if (facts.pods.planOf(uid)?.claim !== undefined) return false;
  return facts.lastFaultOverAtMs < facts.endBeganAtMs(uid);
}

interface Asked {
  readonly life: Life;
  readonly atMs: number;
  readonly kubelet: number;
}

/**
 * R1: the readiness of a container is probed until the container has stopped, for any reason of the termination and
 * also after a kubelet restart.
 */
export const endingIsProbed: Invariant = invariant('R1', ['probed', 'containerEnded', 'health'], () => {
  const asked = new Map<string, Asked>();
  return (observation, facts) => {
    if (observation.kind === 'containerEnded') asked.delete(observation.life.id);
    if (observation.kind === 'probed') {
      const { life, kind } = observation.probed;
      const { atMs, kubelet } = observation;
      if (kind === 'readiness') asked.set(life.id, { life, atMs, kubelet });
    }
    if (observation.kind !== 'health') return undefined;
    const ending = [...asked.values()].filter(({ life, kubelet }) => {
      // A restarted kubelet may not know that a container has started: the startup probe does not run any more, and the
      // API may be unreachable. The kubelet reads the pod's address from the sandbox.
      const isLost = facts.lives.sandboxLostAtMs(life.sandboxId) !== undefined;
      const isKnown = kubelet === observation.kubelet || (life.plan.probes?.startup === undefined && !isLost);
      return isKnown && life.endedAtMs === undefined && endsUndisturbed(life.podUid, facts);
    });
    if (ending.length === 0) return undefined;
    const forgotten = ending.find(({ life, atMs }) => {
      const periodMs = (life.plan.probes?.readiness?.periodSeconds ?? 0) * 1000;
      const sinceMs = Math.max(atMs, facts.endBeganAtMs(life.podUid));
      return observation.atMs - sinceMs > periodMs + PROBE_LATE_MS;
    });
    return judged(
      forgotten &&
        `readiness of ${forgotten.life.podUid}/${forgotten.life.name} is no longer probed while its pod is terminating`,
    );
  };
});

/**
 * R1: a container whose readiness probe has reached its failure threshold is reported as unready, also during the
 * termination of its pod.
 */
export const unreadyIsShown: Invariant = invariant('R1', ['kubeletStarted', 'probed', 'status', 'health'], () => {
  const failures = new Map<string, { readonly life: Life; readonly row: number; readonly sinceMs: number }>();
  const statuses = new Map<string, PodStatus>();
  const shows = ({ id, podUid }: Life): boolean => {
    const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = statuses.get(podUid) ?? {};
    const all = [...containerStatuses, ...initContainerStatuses];
    const shown = all.find(({ containerID }) => bareContainerId(containerID) === id);
    if (shown === undefined) return false;
    return shown.ready || conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  };
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') {
      failures.clear();
      statuses.clear();
    }
    if (observation.kind === 'status') {
      const { pod, status } = observation.status;
      statuses.set(pod.metadata.uid, status);
    }
    if (observation.kind === 'probed' && observation.probed.kind === 'readiness') {
      const { life, answer } = observation.probed;
      const before = failures.get(life.id);
      const row = answer === 'well' ? 0 : (before?.row ?? 0) + 1;
      const isLonger = row > READINESS_FAILURE_THRESHOLD;
      failures.set(life.id, { life, row, sinceMs: isLonger && before ? before.sinceMs : observation.atMs });
    }
    if (observation.kind !== 'health' || !facts.kubeletUp) return undefined;
    const failed = [...failures.values()].filter(
      ({ life, row, sinceMs }) =>
        life.endedAtMs === undefined &&
        row >= READINESS_FAILURE_THRESHOLD &&
        observation.atMs - sinceMs > SHOWN_LATE_MS,
    );
    if (failed.length === 0) return undefined;
    const wrong = failed.find(({ life }) => shows(life));
    return judged(
      wrong && `${wrong.life.podUid}/${wrong.life.name} has failed its readiness probe but is reported as ready`,
    );
  };
});

/**
 * C5: a kubelet that knows a pod only as deleted terminates it by the time that the API states. A kubelet restart does
 * not restart the grace period.
 */
export const deletionsKeepTheirEnd: Invariant = invariant('C5', ['health'], () => (observation, facts) => {
  const { deletions, lives, kubeletStartedAtMs, clockJumpedAtMs, nowMs } = facts;
  const deleted = lives.running.filter(({ podUid }) => {
    const isRestarted = deletions.askedAtMs(podUid) >= 0 && kubeletStartedAtMs > deletions.askedAtMs(podUid);
    const isKnownAsDeleted = isRestarted && facts.syncBeganAtMs(podUid) > nowMs;
    return isKnownAsDeleted && clockJumpedAtMs < deletions.firstAskedAtMs(podUid) && endsUndisturbed(podUid, facts);
  });
  if (deleted.length === 0) return undefined;
  const lateMs = ({ podUid }: Life): number =>
    observation.atMs - Math.max(deletions.dueAtMs(podUid), facts.endBeganAtMs(podUid));
  const late = deleted.find((life) => lateMs(life) > LEAST_MS + END_LATE_MS);
  return judged(
    late &&
      `container ${late.name} of pod ${late.podUid} is running ${lateMs(late)} ms after the end of its deletion's grace period`,
  );
});

/**
 * C5: when all containers of a pod have exited, the termination does not wait for a hook, a sleep or the grace period.
 */
export const endedIsNotWaitedFor: Invariant = invariant('C5', ['containerEnded', 'health'], () => {
  const endedAtMs = new Map<string, number>();
  return (observation, facts) => {
    if (observation.kind === 'containerEnded') endedAtMs.set(observation.life.podUid, observation.atMs);
    if (observation.kind !== 'health') return undefined;
    const ended = [...endedAtMs].filter(
      ([uid]) => endsUndisturbed(uid, facts) && facts.lives.runningOf(uid).length === 0,
    );
    if (ended.length === 0) return undefined;
    const lateMs = (uid: string, atMs: number): number => observation.atMs - Math.max(atMs, facts.endBeganAtMs(uid));
    const late = ended.find(([uid, atMs]) => lateMs(uid, atMs) > END_LATE_MS);
    return judged(late && `pod ${late[0]} is still terminating ${lateMs(...late)} ms after its last container exited`);
  };
});

/** C5: a `preStop` hook runs once per life of the kubelet. */
export const preStopRunsOnce: Invariant = invariant('C5', ['containerStarted', 'preStopBegan'], () => {
  const kubeletAtStart = new Map<string, number>();
  const runs = new Map<string, number>();
  return (observation) => {
    const { life, kubelet } = observation;
    if (observation.kind === 'containerStarted') {
      kubeletAtStart.set(life.id, kubelet);
      return undefined;
    }
    const count = (runs.get(life.id) ?? 0) + 1;
    runs.set(life.id, count);
    const most = 1 + kubelet - (kubeletAtStart.get(life.id) ?? kubelet);
    return judged(
      count > most && `the preStop hook of container ${life.name} of pod ${life.podUid} ran ${count} times`,
    );
  };
});
