import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';
import { illAfterMs, type ProbeKind } from '../scenario/plans.ts';
import { LIVENESS_FAILURE_THRESHOLD } from '../scenario/probe-plans.ts';
import type { Probed } from '../world/probe-targets.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';

/** How late a probe may be beside its period: its own timeout, and what a busy instant takes. */
const LATE_MS = 1500;

/** R1: nothing is asked of a container before its startup probe has succeeded, and none is shown as ready before it was found to be. */
export const startupComesFirst: Invariant = invariant('R1', ['status', 'probed', 'apiRequest'], () => {
  /** The ids of runs, by the kind of probe that they have answered well. */
  const well: Record<ProbeKind, Set<string>> = { liveness: new Set(), readiness: new Set(), startup: new Set() };
  const everReady = new Set<string>();
  const told = new ToldRuns();
  return (observation, facts) => {
    told.observe(observation);
    if (observation.kind === 'probed') {
      const { life, kind, answer } = observation.probed;
      if (answer === 'well') {
        well[kind].add(life.id);
        if (kind === 'readiness') everReady.add(`${life.podUid}/${life.name}`);
      }
      if (kind === 'startup' || life.plan.probes?.startup === undefined) return undefined;
      const early = told.has(life.id) && !well.startup.has(life.id);
      return judged(
        early && `${life.podUid}/${life.name} is asked for its ${kind} before its startup probe has succeeded`,
      );
    }
    if (observation.kind !== 'apiRequest' || observation.shown?.conditions.Ready !== 'True') return undefined;
    const { uid } = observation.shown;
    const never = (facts.pods.planOf(uid)?.containers ?? []).find(
      ({ name, probes }) => probes?.readiness !== undefined && !everReady.has(`${uid}/${name}`),
    );
    return judged(never && `pod ${uid} is shown as ready, and its container ${never.name} has never said that it is`);
  };
});

/** R2: a container is told to stop for its liveness only when it has failed as often in a row as it takes, or nothing asks for it at all. */
export const thresholdsCount: Invariant = invariant('R2', ['probed'], () => {
  const failures = new Map<string, number>();
  return (observation) => {
    if (observation.probed.kind !== 'liveness') return undefined;
    const { life, answer } = observation.probed;
    // Each kubelet counts for itself.
    const key = `${observation.kubelet} ${life.id}`;
    const row = answer === 'well' ? 0 : (failures.get(key) ?? 0) + 1;
    failures.set(key, row);
    const again = row > LIVENESS_FAILURE_THRESHOLD;
    return judged(again && `${life.podUid}/${life.name} is asked for its liveness after it has failed for good`);
  };
});

/** R3: whatever other probes do, each is made every period for as long as its container runs and its pod is wanted. */
export const probesKeepTime: Invariant = invariant(
  'R3',
  ['status', 'stepBegan', 'stepEnded', 'containerEnded', 'health', 'probed'],
  () => {
    const told = new ToldRuns();
    const last = new Map<string, { readonly probed: Probed; readonly atMs: number; readonly kubelet: number }>();
    const interruptedAtMs = new Map<string, number>();
    /** Pods that are being ended: where they are wanted again by now, their containers have no status to be found by. */
    const ending = new Set<string>();
    const lateness = (key: string, nowMs: number, kubelet: number, facts: Facts): Judgement => {
      const before = last.get(key);
      if (before === undefined || before.kubelet !== kubelet) return undefined;
      const { life, kind } = before.probed;
      if (life.endedAtMs !== undefined || !facts.kubeletUp || !facts.pods.wanted.has(life.podUid)) return undefined;
      if (ending.has(life.podUid)) return undefined;
      // It may have failed for good, and be told to stop, which takes its time.
      if (kind === 'liveness' && nowMs - life.startedAtMs >= illAfterMs(life.plan, life.attempt)) return undefined;
      // Of an earlier life of its UID: that is still to be ended, whenever it is heard of.
      if (facts.pods.lastUnwantedAtMs(life.podUid) >= life.startedAtMs) return undefined;
      if ((interruptedAtMs.get(life.podUid) ?? Number.NEGATIVE_INFINITY) >= before.atMs) return undefined;
      const periodMs = (life.plan.probes?.[kind]?.periodSeconds ?? 0) * 1000;
      const gapMs = nowMs - before.atMs;
      const late = gapMs > periodMs + LATE_MS;
      const words = `${life.podUid}/${life.name} was not asked for its ${kind} for ${gapMs} ms, with a period of ${periodMs} ms`;
      return judged(late && words);
    };
    return (observation, facts) => {
      told.observe(observation);
      const { atMs, kubelet } = observation;
      if (observation.kind === 'stepBegan') {
        if (observation.step === 'syncPod') ending.delete(observation.uid);
        else {
          ending.add(observation.uid);
          interruptedAtMs.set(observation.uid, atMs);
        }
      }
      // Its end may wait for a runtime that is away.
      const over = toldOver(observation);
      if (over !== undefined) {
        ending.add(over);
        interruptedAtMs.set(over, atMs);
      }
      if (observation.kind === 'containerEnded') {
        for (const [key, { probed }] of last) if (probed.life.id === observation.life.id) last.delete(key);
      }
      if (observation.kind === 'health') {
        return firstWrong([...last.keys()].map((key) => lateness(key, atMs, kubelet, facts)));
      }
      if (observation.kind !== 'probed') return undefined;
      const { probed } = observation;
      // One that has started is not asked for that again.
      if (probed.kind === 'startup' || !told.has(probed.life.id)) return undefined;
      const key = `${probed.life.id} ${probed.kind}`;
      const judgement = lateness(key, atMs, kubelet, facts);
      last.set(key, { probed, atMs, kubelet });
      return judgement;
    };
  },
);

/** The runs of containers that the kubelet has told of: a request may reach one that has just begun in place of the one that was meant. */
class ToldRuns {
  readonly #ids = new Set<string>();

  observe(observation: Observation): void {
    if (observation.kind !== 'status') return;
    const { containerStatuses = [], initContainerStatuses = [] } = observation.status.status;
    for (const { containerID } of [...containerStatuses, ...initContainerStatuses]) {
      this.#ids.add(bareContainerId(containerID));
    }
  }

  has(containerId: string): boolean {
    return this.#ids.has(containerId);
  }
}

/** The pod that is asked no more, as it is said to have failed or to be done. */
function toldOver(observation: Observation): string | undefined {
  if (observation.kind === 'stepEnded') return observation.isTerminal ? observation.uid : undefined;
  if (observation.kind !== 'status') return undefined;
  const { pod, status } = observation.status;
  return status.phase === 'Failed' || status.phase === 'Succeeded' ? pod.metadata.uid : undefined;
}

function firstWrong(judgements: readonly Judgement[]): Judgement {
  const made = judgements.filter((judgement) => judgement !== undefined);
  return made.find((judgement) => judgement !== 'ok') ?? made[0];
}
