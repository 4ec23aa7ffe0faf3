import type { Facts } from '../facts/facts.ts';
import type { ClusterLook, LastLook } from '../observation.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** How long a node's condition may take until the API server shows it, where nothing is in its way. */
const CONDITION_MS = 45_000;
/** What an evicted pod has to be gone, until the node must not wait for it any more. */
const EVICTION_MS = 90_000;

/**
 * N1: no pod is granted more, where what all were granted together is then more than the node has to give. Until all sources have
 * spoken it is not known who is there: what ran before a restart stays, and may be too much with those that were admitted before it.
 */
export const grantsFit: Invariant = invariant('N1', ['kubeletStarted', 'settled'], () => {
  let before: ReadonlyMap<string, number> = new Map();
  return (observation, facts) => {
    const { grants } = facts.resources;
    const known = before;
    before = grants;
    const { resources } = facts.node;
    if (observation.kind !== 'settled' || grants === known || resources === undefined || !facts.kubeletUp)
      return undefined;
    if (!facts.sourcesReady || facts.sourcesReadyAtMs === observation.atMs) return undefined;
    const grown = [...grants].find(([uid, millis]) => holds(uid, facts) && millis > (known.get(uid) ?? 0));
    if (grown === undefined) return undefined;
    const held = [...grants].filter(([uid]) => holds(uid, facts));
    const sum = held.reduce((total, [, millis]) => total + millis, 0);
    const most = resources.cpuCount * 1000;
    const text = held.map(([uid, millis]) => `${uid} ${millis}m`).join(', ');
    return judged(sum > most && `pod ${grown[0]} is granted more, and ${sum}m of ${most}m are granted then: ${text}`);
  };
});

/** Whether a pod counts on a node: one that has ended, is not wanted any more, or that this kubelet has not had, does not. */
function holds(uid: string, facts: Facts): boolean {
  return facts.pods.wanted.has(uid) && facts.isKnownToKubelet(uid) && !facts.resources.isOver(uid);
}

/** N1: what ran before a restart of the kubelet is not refused after it. */
export const runningIsAdmitted: Invariant = invariant('N1', ['status'], () => (observation, facts) => {
  if (observation.kind !== 'status' || facts.node.resources === undefined) return undefined;
  const { pod, status } = observation.status;
  const { uid } = pod.metadata;
  if (status.phase !== 'Failed' || !status.reason?.startsWith('OutOf')) return undefined;
  const life = facts.lives.runningOf(uid).find(({ startedAtMs }) => facts.pods.lastUnwantedAtMs(uid) < startedAtMs);
  return judged(life && `pod ${uid} is refused (${status.reason}) while its container ${life.name} runs`);
});

/** N2: pods are evicted for figures that are fresh, one at a time; critical ones neither for that nor for another pod. */
export const evictions: Invariant = invariant('N2', ['kubeletStarted', 'podEndedByNode', 'containerEnded'], () => {
  let last: { readonly uid: string; readonly atMs: number } | undefined;
  let freeAtMs = -1;
  return (observation, facts) => {
    if (observation.kind === 'kubeletStarted') {
      last = undefined;
      freeAtMs = -1;
    }
    if (observation.kind === 'containerEnded' && observation.life.podUid === last?.uid) freeAtMs = observation.atMs;
    if (observation.kind !== 'podEndedByNode') return undefined;
    const { uid, reason, atMs } = observation;
    const plan = facts.pods.planOf(uid);
    if (plan?.critical || !facts.pods.isApiPod(uid)) return { wrong: `${reason}: pod ${uid}, which is critical` };
    if (reason !== 'Evicted') return 'ok';
    const { figures } = facts.resources;
    if (figures?.short !== true) return { wrong: `pod ${uid} is evicted, and memory is not short` };
    const before = last;
    const goneAtMs = freeAtMs;
    last = { uid, atMs };
    freeAtMs = -1;
    if (before === undefined) return 'ok';
    const [life] = facts.lives.runningOf(before.uid);
    if (life !== undefined && atMs - before.atMs < EVICTION_MS) {
      return {
        wrong: `pod ${uid} is evicted while container ${life.name} of pod ${before.uid} runs, evicted before it`,
      };
    }
    // The wall clock says how old figures are.
    if (facts.clockJumpedAtMs >= before.atMs) return 'ok';
    const { measuredAtMs } = figures;
    const stale = measuredAtMs < Math.max(before.atMs, goneAtMs);
    return judged(stale && `pod ${uid} is evicted for figures of before the end of pod ${before.uid}`);
  };
});

/** N3: the condition follows what is measured, and outlasts it by the transition period. */
export const pressureHolds: Invariant = invariant('N3', ['health', 'kubeletStarted'], () => {
  let shown: boolean | undefined;
  return (observation, facts) => {
    // One that begins anew knows nothing of what was.
    if (observation.kind === 'kubeletStarted') shown = undefined;
    const { resources } = facts.node;
    if (observation.kind !== 'health' || observation.cluster === undefined || resources === undefined) return undefined;
    const before = shown;
    shown = observation.cluster.memoryPressure;
    const { shortAtMs, shortSinceMs } = facts.resources;
    const heldMs = observation.atMs - shortAtMs;
    if (before === true && shown === false && shortAtMs >= 0) {
      const early = heldMs < resources.pressureTransitionMs;
      return judged(
        early && `MemoryPressure ends ${heldMs} ms after memory was short, not ${resources.pressureTransitionMs}`,
      );
    }
    if (facts.api.inTrouble || observation.atMs - facts.api.troubleAtMs < CONDITION_MS) return undefined;
    const late = shown === false && observation.atMs - shortSinceMs > CONDITION_MS;
    return shortSinceMs === Number.POSITIVE_INFINITY
      ? undefined
      : judged(late && `memory is short since ${observation.atMs - shortSinceMs} ms, and no condition says so`);
  };
});

/** N5: the group of a pod goes after its containers, and before the API is told that the pod is gone. */
export const groupsGoInOrder: Invariant = invariant('N5', ['call', 'apiRequest'], () => (observation, facts) => {
  if (facts.node.resources === undefined) return undefined;
  if (observation.kind === 'call') {
    const { port, name, args } = observation.call;
    if (port !== 'cgroup' || name !== 'destroy') return undefined;
    const uid = (args[0] as readonly string[]).at(-1)?.slice('pod'.length) ?? '';
    const [life] = facts.lives.runningOf(uid);
    return judged(life && `the group of pod ${uid} is removed while its container ${life.name} runs`);
  }
  const { verb, resource, status, uid, name } = observation.request;
  if (verb !== 'delete' || resource !== 'pods' || status !== 200 || uid === undefined) return undefined;
  if (!facts.pods.isApiPod(uid)) return undefined;
  return judged(
    observation.groups.includes(uid) && `the object of pod ${uid} (${name}) is deleted, and its group is left`,
  );
});

/** An ephemeral container runs once: nothing starts it again. */
export const ephemeralRunsOnce: Invariant = invariant('C6', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted') return undefined;
  const { podUid, name, sandboxId } = observation.life;
  const pod = facts.pods.planOf(podUid);
  if (pod === undefined || [...pod.init, ...pod.containers].some((plan) => plan.name === name)) return undefined;
  const runs = facts.lives.of(podUid, name).filter((life) => life.sandboxId === sandboxId);
  return judged(runs.length > 1 && `ephemeral container ${name} of pod ${podUid} starts again in its sandbox`);
});

/** What of resizes is not as it has to be in the end: granted, applied and told, or told to wait for what is not there. */
export function resizeFault(facts: Facts, look: LastLook, { shown }: ClusterLook): string | undefined {
  const { resources } = facts.node;
  if (resources === undefined) return undefined;
  const held = new Map([...facts.resources.grants].filter(([uid]) => holds(uid, facts)));
  const all = [...held.values()].reduce((sum, millis) => sum + millis, 0);
  for (const { uid, mirror, cpu, resize } of shown) {
    if (mirror || !facts.pods.wanted.has(uid) || facts.resources.isOver(uid) || facts.resources.wasEnded(uid)) continue;
    if (facts.resources.askedFor(uid) === undefined) continue;
    const asked = Object.values(cpu.asked).reduce((sum, millis) => sum + millis, 0);
    const room = resources.cpuCount * 1000 - all + (held.get(uid) ?? 0);
    if (resize.inProgress) return `a resize of pod ${uid} is still said to be in progress`;
    if (resize.pending === 'Deferred' && asked <= room) return `a resize of pod ${uid} waits, and there is room for it`;
    if (resize.pending === 'Infeasible' && asked <= resources.cpuCount * 1000) {
      return `a resize of pod ${uid} is called infeasible, and the node is large enough`;
    }
    for (const [name, millis] of Object.entries(cpu.asked)) {
      const life = facts.lives.runningOf(uid).find((running) => running.name === name);
      if (life === undefined) continue;
      const granted = cpu.allocated[name];
      const who = `container ${name} of pod ${uid}`;
      if (resize.pending === undefined && granted !== millis)
        return `${who} asks for ${millis}m and is granted ${granted}m`;
      if (cpu.running[name] !== granted)
        return `${who} is said to run with ${cpu.running[name]}m, and was granted ${granted}m`;
      const shares = look.containers.find(({ id }) => id === life.id)?.cpuShares;
      const wanted = Math.max(2, Math.floor(((granted ?? 0) * 1024) / 1000));
      if (shares !== wanted)
        return `${who} runs with ${shares} shares, and its status says ${granted}m: ${wanted} shares`;
    }
  }
  return undefined;
}
