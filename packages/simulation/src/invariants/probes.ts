import { bareContainerId } from '@node-agent/pod-spec';
import type { Facts } from '../facts/facts.ts';
import type { Observation } from '../observation.ts';
import { illAfterMs, type ProbeKind } from '../scenario/plans.ts';
import { LIVENESS_FAILURE_THRESHOLD } from '../scenario/probe-plans.ts';
import type { Probed } from '../world/probe-targets.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';

/** Maximum delay of a probe beyond its period, which includes the probe's timeout. */
const LATE_MS = 1500;

/**
 * R1: no other probe of a container runs before its startup probe has succeeded, and no container is reported as ready
 * before its readiness probe has succeeded.
 */
export const startupComesFirst: Invariant = invariant('R1', ['status', 'probed', 'apiRequest'], () => {
  /** Ids of the container runs that have answered a probe successfully, by kind of probe. */
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
        early && `${life.podUid}/${life.name} was probed for ${kind} before its startup probe had succeeded`,
      );
    }
    if (observation.kind !== 'apiRequest' || observation.shown?.conditions.Ready !== 'True') return undefined;
    const { uid } = observation.shown;
    const never = (facts.pods.planOf(uid)?.containers ?? []).find(
      ({ name, probes }) => probes?.readiness !== undefined && !everReady.has(`${uid}/${name}`),
    );
    return judged(
      never &&
        `pod ${uid} is reported as ready although the readiness probe of its container ${never.name} never succeeded`,
    );
  };
});

/**
 * R2: liveness probes of a container stop when the failure threshold of consecutive failures is reached, because the
 * kubelet then stops the container. Until the kubelet has reported a new run of the container, probes count for the
 * previous run.
 */
export const thresholdsCount: Invariant = invariant('R2', ['status', 'probed'], () => {
  const failures = new Map<string, number>();
  const told = new ToldRuns();
  return (observation) => {
    told.observe(observation);
    if (observation.kind !== 'probed' || observation.probed.kind !== 'liveness') return undefined;
    const { life, answer } = observation.probed;
    if (!told.has(life.id)) return undefined;
    // Each kubelet counts failures on its own.
    const key = `${observation.kubelet} ${life.id}`;
    const row = answer === 'well' ? 0 : (failures.get(key) ?? 0) + 1;
    failures.set(key, row);
    const again = row > LIVENESS_FAILURE_THRESHOLD;
    return judged(
      again && `liveness of ${life.podUid}/${life.name} was probed after it had reached its failure threshold`,
    );
  };
});

/** R3: each probe runs once per period while its container runs and its pod is wanted, regardless of other probes. */
export const probesKeepTime: Invariant = invariant(
  'R3',
  ['status', 'stepBegan', 'stepEnded', 'containerEnded', 'health', 'probed'],
  () => {
    const told = new ToldRuns();
    const last = new Map<string, { readonly probed: Probed; readonly atMs: number; readonly kubelet: number }>();
    const interruptedAtMs = new Map<string, number>();
    /**
     * Pods that are being terminated. If a terminating pod is wanted again, its containers have no status by which the
     * prober finds the containers.
     */
    const ending = new Set<string>();
    const lateness = (key: string, nowMs: number, kubelet: number, facts: Facts): Judgement => {
      const before = last.get(key);
      if (before === undefined || before.kubelet !== kubelet) return undefined;
      const { life, kind } = before.probed;
      if (life.endedAtMs !== undefined || !facts.kubeletUp || !facts.pods.wanted.has(life.podUid)) return undefined;
      if (ending.has(life.podUid)) return undefined;
      // A container whose liveness probe fails permanently is stopped after some time, during which probes may be
      // missing.
      if (kind === 'liveness' && nowMs - life.startedAtMs >= illAfterMs(life.plan, life.attempt)) return undefined;
      // The container belongs to an earlier pod with this UID, which must still be terminated.
      if (facts.pods.lastUnwantedAtMs(life.podUid) >= life.startedAtMs) return undefined;
      if ((interruptedAtMs.get(life.podUid) ?? Number.NEGATIVE_INFINITY) >= before.atMs) return undefined;
      const periodMs = (life.plan.probes?.[kind]?.periodSeconds ?? 0) * 1000;
      const gapMs = nowMs - before.atMs;
      const late = gapMs > periodMs + LATE_MS;
      const words = `${life.podUid}/${life.name} was not probed for ${kind} for ${gapMs} ms, with a period of ${periodMs} ms`;
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
      // After a terminal phase, the termination may wait for a runtime that is down, but probing stops at once.
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
      // The startup probe does not run again after it has succeeded.
      if (probed.kind === 'startup' || !told.has(probed.life.id)) return undefined;
      const key = `${probed.life.id} ${probed.kind}`;
      const judgement = lateness(key, atMs, kubelet, facts);
      last.set(key, { probed, atMs, kubelet });
      return judgement;
    };
  },
);

/**
 * Runs of containers that the kubelet has reported. A probe request may reach a newly started run in place of the run
 * that the kubelet intended to probe.
 */
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

/**
 * Returns the UID of the pod if the observation reports its terminal phase, because the pod is then no longer probed.
 */
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
