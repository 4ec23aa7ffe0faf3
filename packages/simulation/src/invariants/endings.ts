import type { PodStatus } from '@node-agent/pod-spec';
import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import { READINESS_FAILURE_THRESHOLD } from '../scenario/probe-plans.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** How late a probe may be beside its period, with its own timeout. */
const PROBE_LATE_MS = 2500;
/** How late the kubelet may show what probes have found, with the timeout of the last. */
const SHOWN_LATE_MS = 3000;
/** Each container has 2 s at least to stop, and a sidecar 2 s more than the others. */
const LEAST_MS = 4000;
/** How long the kubelet may take to hear of an end, and to finish it. */
const END_LATE_MS = 8000;

/** Whether the kubelet that runs ends the pod, and neither node nor runtime was disturbed since it began to. */
function endsUndisturbed(uid: string, facts: Facts): boolean {
  if (!facts.kubeletUp || !facts.runtimeUp || !facts.isBeingEnded(uid)) return false;
  return facts.lastFaultOverAtMs < facts.endBeganAtMs(uid);
}

interface Asked {
  readonly life: Life;
  readonly atMs: number;
  readonly kubelet: number;
}

/** R1: readiness of a container is probed until it has stopped, whatever ends its pod, and after a restart of the kubelet too. */
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
      // A kubelet that starts knows whether a container has started by the probe that is made no more, or by the API, which may be away. It has
      // the pod's address from the sandbox.
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
        `${forgotten.life.podUid}/${forgotten.life.name} is not asked for its readiness any more while its pod ends`,
    );
  };
});

/** R1: a container whose readiness has failed as often as it takes is shown as unready, also while its pod ends. */
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
      wrong && `${wrong.life.podUid}/${wrong.life.name} has failed its readiness probe, and is shown as ready`,
    );
  };
});

/** C5: a pod that a kubelet knows as deleted only ends when the API says that it does: a restart does not begin its grace period again. */
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
    late && `container ${late.name} of pod ${late.podUid} runs ${lateMs(late)} ms after the end of its deletion`,
  );
});

/** C5: no hook, no sleep and no grace period is waited for when all containers of a pod have ended. */
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
    return judged(late && `pod ${late[0]} is still being ended ${lateMs(...late)} ms after its last container`);
  };
});

/** C5: a `preStop` hook runs once in one life of the kubelet. */
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
      count > most && `the preStop hook of container ${life.name} of pod ${life.podUid} runs for the ${count}. time`,
    );
  };
});
