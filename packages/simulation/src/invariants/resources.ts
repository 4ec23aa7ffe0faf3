import type { Facts } from '../facts/facts.ts';
import { SEEN_MS } from '../facts/manifest-facts.ts';
import { REFUSAL_REASON } from '../facts/shutdown-facts.ts';
import type { LastLook } from '../observation.ts';
import type { CpuPlan, PodPlan } from '../scenario/plans.ts';
import type { ShownPod } from '../world/cluster-api.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { watchSilenceMs } from './watch-silence.ts';

/**
 * N1: no pod is granted more, where what all were granted together is then more than the node has to give. Until all sources have
 * spoken it is not known who is there: what ran before a restart stays, and may be too much with those that were admitted before it.
 */
export const grantsFit: Invariant = invariant('N1', ['kubeletStarted', 'settled'], () => {
  let before: ReadonlyMap<string, number> = new Map();
  /** Who was granted more while it waits to be let in once more: that it has it is judged when it was. */
  let waiting: readonly string[] = [];
  return (observation, facts) => {
    const { grants } = facts.resources;
    const known = before;
    before = grants;
    const { resources } = facts.node;
    if (observation.kind === 'kubeletStarted') waiting = [];
    if (observation.kind !== 'settled' || resources === undefined || !facts.kubeletUp) return undefined;
    if (grants === known && waiting.length === 0) return undefined;
    const isSure = !facts.sourcesReady && facts.resources.startedWithAllGrants;
    const early = isSure ? resizedEarly(known, facts) : undefined;
    if (early !== undefined) {
      const text = `${known.get(early)}m and now ${grants.get(early)}m, before all sources have reported`;
      return { wrong: `pod ${early} was granted ${text}` };
    }
    if (!facts.sourcesReady) return undefined;
    const more = [...grants].filter(([uid, millis]) => millis > (known.get(uid) ?? 0) || waiting.includes(uid));
    const grown = more.flatMap(([uid]) => (holds(uid, facts) ? uid : []));
    waiting = grown.filter((uid) => makesRoom(uid, facts));
    const newest = grown.find((uid) => !waiting.includes(uid));
    if (newest === undefined) return undefined;
    // Who is new to this kubelet, and was there already, may have been admitted before it was known who else is: what it is granted is
    // written when it begins.
    if (!known.has(newest) && facts.pods.lastUnwantedAtMs(newest) <= facts.sourcesReadyAtMs) return undefined;
    // A list that is old does not tell of all pods: the others are there when its watch has.
    if (facts.api.wasStaleSince(facts.kubeletStartedAtMs) && observation.atMs - facts.sourcesReadyAtMs < SEEN_MS)
      return undefined;
    const held = [...grants].filter(([uid]) => holds(uid, facts) && !makesRoom(uid, facts));
    const sum = held.reduce((total, [, millis]) => total + millis, 0);
    const most = resources.cpuCount * 1000;
    const text = held.map(([uid, millis]) => `${uid} ${millis}m`).join(', ');
    return judged(sum > most && `pod ${newest} is granted more, and ${sum}m of ${most}m are granted then: ${text}`);
  };
});

/** Who runs from before the kubelet's start, and was granted more than it had, when it is not known yet who else is there. */
function resizedEarly(
  known: ReadonlyMap<string, number>,
  { resources, lives, kubeletStartedAtMs }: Facts,
): string | undefined {
  const old = lives.running.find(({ podUid, startedAtMs }) => {
    const had = known.get(podUid) ?? 0;
    return startedAtMs < kubeletStartedAtMs && had > 0 && (resources.grants.get(podUid) ?? 0) > had;
  });
  return old?.podUid;
}

/** Whether a pod counts on a node: one that has ended, is not wanted any more, or that this kubelet has not had, does not. */
function holds(uid: string, facts: Facts): boolean {
  return facts.pods.wanted.has(uid) && facts.isKnownToKubelet(uid) && !facts.resources.isOver(uid);
}

/** Who makes room for another pod is waited for so long at least. */
const LEAST_KILL_MS = 10_000;

/** Whether a pod that is wanted holds nothing for others until it is let in once more. */
function makesRoom(uid: string, facts: Facts): boolean {
  // It was stopped, or is about to be, and came again meanwhile.
  if (facts.resources.stoppedAtMs(uid) >= 0 || facts.pods.lastUnwantedAtMs(uid) >= facts.syncBeganAtMs(uid))
    return true;
  const agoMs = facts.nowMs - facts.resources.preemptedAtMs(uid);
  // What has not begun, as it waits for its name, is over at once.
  const hasBegun = Number.isFinite(facts.syncBeganAtMs(uid)) || facts.lives.runningOf(uid).length > 0;
  // Whoever it was ended for is let in when it was waited for in vain, as upstream has it.
  return agoMs >= (hasBegun ? LEAST_KILL_MS : 0);
}

/** N1: what ran before a restart of the kubelet is not refused after it. */
export const runningIsAdmitted: Invariant = invariant('N1', ['podRefused'], () => (observation, facts) => {
  if (observation.kind !== 'podRefused') return undefined;
  const { uid, reason } = observation;
  // It may have come later than the first pods of its source, which is to come anew.
  if (facts.pods.isUnsure(uid)) return undefined;
  const life = facts.lives.runningOf(uid).find(({ startedAtMs }) => facts.pods.lastUnwantedAtMs(uid) < startedAtMs);
  return judged(life && `pod ${uid} is refused (${reason}) while its container ${life.name} runs`);
});

/** A change of a pod is seen so late at most, where those that make room for another pod are slow to end: 1.5 times the longest grace period. */
const HELD_UP_MS = SEEN_MS + 45_000;

/** N1: no pod is refused for a lack of CPU where it fits beside all that may hold any: what has ended holds nothing. */
export const refusedForLack: Invariant = invariant('N1', ['podRefused'], () => (observation, facts) => {
  const { node, resources } = facts;
  if (observation.kind !== 'podRefused' || !isForLack(observation.reason) || node.resources === undefined)
    return undefined;
  const { uid, reason } = observation;
  // What a list of old says is there, is there for the kubelet.
  if (facts.api.wasStaleSince(facts.kubeletStartedAtMs)) return undefined;
  // What it asked for before is what it is let in with, where others that make room for a pod before it hold it up.
  const isNew = observation.atMs - heardOfByMs(uid, facts) < HELD_UP_MS;
  // So is what it was granted by a kubelet before this one, whatever it asks for since (`AddPod` of upstream's allocation manager).
  const asked = isNew ? heldAtMost(uid, facts) : Math.max(askedBy(uid, facts), resources.grants.get(uid) ?? 0);
  // Which version of it the kubelet holds on to, and how much that asks for.
  if (facts.pods.isUnsure(uid)) return undefined;
  // Those that are critical go for nobody.
  const onlyCritical = reason === 'UnexpectedAdmissionError';
  const others = facts.pods.knownUids.filter((other) => {
    if (other === uid || (onlyCritical && !isCriticalPlan(other, facts))) return false;
    return mayHold(other, facts);
  });
  // What a pod holds while it is resized goes by what the API shows of that, as upstream has it: it may not have been told yet.
  const { api } = facts;
  const isWell = !api.inTrouble && observation.atMs - api.troubleAtMs >= watchSilenceMs(facts);
  const isUntold = (other: string): boolean => {
    const changedAtMs = facts.pods.isApiPod(other) ? resources.changedAtMs(other) : -1;
    return changedAtMs >= 0 && (api.inTrouble || api.troubleAtMs >= changedAtMs);
  };
  if (!isWell && others.some(isUntold)) return undefined;
  const held = others.map((other) => [other, heldAtMost(other, facts)] as const).filter(([, millis]) => millis > 0);
  const sum = held.reduce((total, [, millis]) => total + millis, 0);
  const most = node.resources.cpuCount * 1000;
  const text = held.map(([other, millis]) => `${other} ${millis}m`).join(', ');
  return judged(
    asked + sum <= most &&
      `pod ${uid} asks for ${asked}m and is refused (${reason}), and ${sum}m of ${most}m are held: ${text}`,
  );
});

/**
 * When the kubelet has heard of a pod at the latest. A watch that was away tells of a pod as it was made, and of its resizes after that, each as
 * a change of its own: it may be let in, or refused, for what it asked for at first.
 */
function heardOfByMs(uid: string, facts: Facts): number {
  const { api, pods } = facts;
  const wantedMs = pods.wantedSinceMs(uid);
  if (!pods.isApiPod(uid)) return wantedMs;
  if (api.inTrouble) return facts.nowMs;
  return api.troubleAtMs >= wantedMs ? api.troubleAtMs + watchSilenceMs(facts) : wantedMs;
}

/** Whether a refusal says that the node has not enough of what a pod asks for. */
export function isForLack(reason: string): boolean {
  return reason !== 'Evicted' && reason !== REFUSAL_REASON;
}

/** Whether a pod may still count on the node, for all that is known of its end. */
function mayHold(uid: string, facts: Facts): boolean {
  const overAtMs = Math.max(facts.resources.refusedAtMs(uid), facts.resources.stoppedAtMs(uid));
  // One that came again since may have been let in, and not have begun.
  const cameAgain = facts.pods.wanted.has(uid) && facts.pods.lastUnwantedAtMs(uid) >= overAtMs;
  // One that was refused is ended where its mirror pod tells its worker of it, and counts until that is done, as upstream has it.
  if (overAtMs >= 0 && !cameAgain && !facts.isBeingEnded(uid)) return false;
  if (facts.api.hasEnded(uid) && facts.lives.runningOf(uid).length === 0) return false;
  // Who was gone when the kubelet started, and did not come again, was never known to it.
  return (
    facts.isKnownToKubelet(uid) ||
    facts.pods.isUnsure(uid) ||
    facts.pods.unwantedSinceMs(uid) > facts.kubeletStartedAtMs - SEEN_MS
  );
}

function askedBy(uid: string, facts: Facts): number {
  return sumOf({ ...facts.pods.planOf(uid)?.cpu, ...facts.resources.askedFor(uid) });
}

/** For so long at most a container runs with what was asked for before, where the runtime fails to change that. */
const RESIZE_HELD_UP_MS = 300_000;

/**
 * As granted or as asked for, whatever is more: who knows when the one becomes the other. By container, as one may still run with more than it
 * is to have while another one has what it is to have.
 */
function heldAtMost(uid: string, facts: Facts): number {
  const { resources } = facts;
  const versions = [
    ...facts.pods.plansOf(uid).map(({ cpu = {} }) => cpu),
    ...resources.askedBefore(uid, facts.nowMs - RESIZE_HELD_UP_MS),
    resources.askedFor(uid) ?? {},
  ];
  const most = new Map<string, number>();
  for (const version of versions) {
    for (const [name, millis] of Object.entries(version)) most.set(name, Math.max(millis, most.get(name) ?? 0));
  }
  return Math.max(sumOf(Object.fromEntries(most)), resources.grants.get(uid) ?? 0);
}

function isCriticalPlan(uid: string, { pods }: Facts): boolean {
  return pods.planOf(uid)?.critical === true || !pods.isApiPod(uid);
}

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
export function resizeFault(facts: Facts, look: LastLook): string | undefined {
  const { resources } = facts.node;
  if (resources === undefined) return undefined;
  const most = resources.cpuCount * 1000;
  const grants = [...facts.resources.grants].filter(([uid]) => holds(uid, facts));
  const held = new Map(grants.map(([uid, millis]) => [uid, Math.max(millis, runningMillis(uid, facts, look))]));
  const all = [...held.values()].reduce((sum, millis) => sum + millis, 0);
  for (const [uid, pod] of facts.pods.wanted) {
    if (pod.cpu === undefined || facts.pods.isUnsure(uid)) continue;
    if (facts.resources.isOver(uid) || facts.wasEnded(uid) || facts.lives.runningOf(uid).length === 0) continue;
    // Without its volumes no sync of it comes as far as its resizes: what runs stays as large as it is (`Kubelet.SyncPod`).
    if (facts.objects.isHeldBack(pod)) continue;
    const room = most - all + (held.get(uid) ?? 0);
    const shown = look.cluster?.shown.find((one) => one.uid === uid && !one.mirror);
    const fault = shown ? shownResizeFault(shown, room, most, facts, look) : staticResizeFault(pod, room, facts, look);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What of a pod runs and cannot be made smaller, as its volumes are not there, with what the rest of it was granted. */
function runningMillis(uid: string, facts: Facts, look: LastLook): number {
  const pod = facts.pods.wanted.get(uid);
  const shown = look.cluster?.shown.find((one) => one.uid === uid);
  if (pod === undefined || shown === undefined || !facts.objects.isHeldBack(pod)) return 0;
  const { asked, allocated, running } = shown.cpu;
  const most = Object.keys(asked).map((name) => Math.max(allocated[name] ?? asked[name] ?? 0, running[name] ?? 0));
  return most.reduce((sum, millis) => sum + millis, 0);
}

/** As the API shows it. */
function shownResizeFault(
  { uid, cpu, resize }: ShownPod,
  room: number,
  most: number,
  facts: Facts,
  look: LastLook,
): string | undefined {
  const asked = sumOf(cpu.asked);
  if (resize.inProgress) return `a resize of pod ${uid} is still said to be in progress`;
  if (resize.pending === 'Deferred' && asked <= room) return `a resize of pod ${uid} waits, and there is room for it`;
  if (resize.pending === 'Infeasible' && asked <= most) {
    return `a resize of pod ${uid} is called infeasible, and the node is large enough`;
  }
  for (const [name, millis] of Object.entries(cpu.asked)) {
    if (!runs(uid, name, facts)) continue;
    const granted = cpu.allocated[name];
    const who = `container ${name} of pod ${uid}`;
    if (resize.pending === undefined && granted !== millis)
      return `${who} asks for ${millis}m and is granted ${granted}m`;
    if (cpu.running[name] !== granted)
      return `${who} is said to run with ${cpu.running[name]}m, and was granted ${granted}m`;
    const fault = sharesFault(uid, name, granted ?? 0, facts, look);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** By what the kubelet has on its disk, and the runtime has been told: there may be nobody to show it to. */
function staticResizeFault({ uid, cpu = {} }: PodPlan, room: number, facts: Facts, look: LastLook): string | undefined {
  const asked = sumOf(cpu);
  const granted = facts.resources.grants.get(uid);
  if (granted !== asked) {
    return asked <= room
      ? `static pod ${uid} asks for ${asked}m and is granted ${granted}m, and there is room for it`
      : undefined;
  }
  for (const [name, millis] of Object.entries(cpu)) {
    const fault = runs(uid, name, facts) ? sharesFault(uid, name, millis, facts, look) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function sharesFault(uid: string, name: string, granted: number, facts: Facts, look: LastLook): string | undefined {
  const life = facts.lives.runningOf(uid).find((running) => running.name === name);
  const shares = look.containers.find(({ id }) => id === life?.id)?.cpuShares;
  const wanted = Math.max(2, Math.floor((granted * 1024) / 1000));
  return shares === wanted
    ? undefined
    : `container ${name} of pod ${uid} runs with ${shares} shares, and was granted ${granted}m: ${wanted} shares`;
}

function runs(uid: string, name: string, facts: Facts): boolean {
  return facts.lives.runningOf(uid).some((life) => life.name === name);
}

function sumOf(cpu: CpuPlan): number {
  return Object.values(cpu).reduce((sum, millis) => sum + millis, 0);
}
