import type { Facts } from '../facts/facts.ts';
import type { LastLook } from '../observation.ts';
import {
  type ContainerPlan,
  findPlan,
  hasFailed,
  hookOf,
  isSidecar,
  longestHooksMs,
  type PodPlan,
  restartPolicyOf,
} from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { POD_LOGS_DIRECTORY, ROOT_DIRECTORY } from '../world/world.ts';
import { clusterFault } from './cluster.ts';
import { overdue } from './deadlines.ts';
import { diskFault } from './disks.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { resizeFault } from './resources.ts';
import { hasFailedToStart, hasFailedUnseen } from './stops.ts';
import { mayWaitForVolume } from './volumes.ts';

/** Maximum delay of a restart beyond its back-off. */
const LATE_MS = 20_000;

/** P7: after the faults have ended, all wanted pods run, and nothing is left of other pods. */
export const convergence: Invariant = invariant('P7', ['kubeletFailed', 'end'], () => (observation, facts) => {
  if (observation.kind === 'kubeletFailed')
    return { wrong: `the kubelet ended without being stopped: ${String(observation.error)}` };
  if (observation.kind !== 'end') return undefined;
  return judged(unconverged(facts, observation.look));
});

/** Returns the first difference from the desired state, as text. */
export function unconverged(facts: Facts, look: LastLook): string | undefined {
  return (
    missing(facts) ??
    overdue(facts) ??
    leftOver(facts, look) ??
    (look.cluster && clusterFault(facts, look.cluster)) ??
    resizeFault(facts, look) ??
    diskFault(facts)
  );
}

/**
 * Time after all other faults by which static pods must run as desired without the API server. The time is longer than
 * any back-off.
 */
const ALONE_MS = 400_000;

/** F4: static pods run without the API server, regardless of what ran under their names before a kubelet restart. */
export const staticsRunAlone: Invariant = invariant('F4', ['health'], () => (observation, facts) => {
  if (observation.kind !== 'health' || !facts.kubeletUp || !facts.runtimeUp) return undefined;
  const { api, ownFaultsOverAtMs, runtimeChangedAtMs, kubeletStartedAtMs } = facts;
  const sinceMs = Math.max(api.awaySinceMs, ownFaultsOverAtMs, runtimeChangedAtMs, kubeletStartedAtMs);
  if (!api.away || observation.atMs - sinceMs < ALONE_MS) return undefined;
  // A Guaranteed pod may wait for the CPUs of a pod that only the API server knows.
  return judged(missing(facts, (pod) => !facts.pods.isApiPod(pod.uid) && pod.whole === undefined));
});

/** Returns a container that should be running and is not. */
function missing(facts: Facts, isMeant: (pod: PodPlan) => boolean = () => true): string | undefined {
  const names = new Map<string, PodPlan[]>();
  for (const pod of facts.pods.wanted.values()) {
    if (!isMeant(pod)) continue;
    if (facts.objects.isHeldBack(pod) || facts.wasEnded(pod.uid) || mayWaitForVolume(pod, facts.pods)) continue;
    const cameAtMs = hasNamesake(pod, facts) ? facts.pods.lastUnwantedAtMs(pod.uid) : undefined;
    if (facts.devices.wasLetInBlindly(pod, cameAtMs)) continue;
    if (!facts.pods.isUnsure(pod.uid)) names.set(pod.name, [...(names.get(pod.name) ?? []), pod]);
  }
  for (const pods of names.values()) {
    // Of several static pods with the same full name, any one may be running.
    const faults = pods.map((pod) => podFault(facts, pod));
    if (faults.every((fault) => fault !== undefined)) return faults[0];
  }
  return undefined;
}

/** Reports whether another pod with the same name ever existed, so that the pod may have waited for its termination. */
function hasNamesake({ uid, name }: PodPlan, { pods }: Facts): boolean {
  return pods.knownUids.some((other) => other !== uid && pods.planOf(other)?.name === name);
}

function podFault(facts: Facts, pod: PodPlan): string | undefined {
  const askedAtMs = facts.restartAll.surelyAskedAtMs(pod.uid);
  const old = facts.lives.runningOf(pod.uid).find((life) => findPlan(pod, life.name) && life.startedAtMs < askedAtMs);
  if (old !== undefined)
    return `container ${old.name} of pod ${pod.uid} is running although all containers must be restarted`;
  const last = (plan: ContainerPlan): Life | undefined => facts.lives.of(pod.uid, plan.name).at(-1);
  const passed = (plan: ContainerPlan): boolean => {
    const life = last(plan);
    return life?.exitCode !== undefined && !hasFailed(pod, plan.name, life);
  };
  const failed = (plan: ContainerPlan): boolean =>
    !isSidecar(pod, plan.name) && (hasFailedForGood(facts, pod, plan) || (isDone(facts, pod, plan) && !passed(plan)));
  // An init container that failed permanently has failed the pod.
  if (pod.init.some(failed)) return undefined;
  for (const plan of pod.init) {
    if (isSidecar(pod, plan.name)) {
      const done = pod.containers.every((main) => isDone(facts, pod, main) || hasFailedForGood(facts, pod, main));
      const fault = done ? undefined : containerFault(facts, pod, plan);
      if (fault !== undefined) return fault;
      if (isNeverUp(plan)) return undefined;
      continue;
    }
    // If the main containers have completed in an earlier sandbox, the init containers need not run in the new one.
    if (!passed(plan))
      return pod.containers.every((main) => isDone(facts, pod, main)) ? undefined : containerFault(facts, pod, plan);
  }
  for (const plan of pod.containers) {
    const fault = isDone(facts, pod, plan) ? undefined : containerFault(facts, pod, plan);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Reports whether a sidecar's hook always fails, or runs until its container exits. The containers after that sidecar
 * wait forever.
 */
function isNeverUp(plan: ContainerPlan): boolean {
  const hook = hookOf(plan, Number.POSITIVE_INFINITY);
  const { exitAfterMs = Number.POSITIVE_INFINITY } = plan.runs.at(-1) ?? {};
  return hook !== undefined && (hook.fails === true || exitAfterMs <= hook.takesMs);
}

/** Reports whether a container has exited and must not be restarted. */
function isDone(facts: Facts, pod: PodPlan, plan: ContainerPlan): boolean {
  const last = facts.lives.of(pod.uid, plan.name).at(-1);
  const isToBeginAnew = last !== undefined && facts.restartAll.surelyAskedAtMs(pod.uid) > last.startedAtMs;
  return last?.endedAtMs !== undefined && !facts.mayRunAgain(pod, last) && !isToBeginAnew;
}

/**
 * Reports whether a container has failed because of a fault and must not be restarted. A start that failed counts as an
 * exit. A run whose record was removed before the kubelet had seen the exit counts as an exit, too. With policy Never,
 * or with rules for other exit codes, the container is not restarted.
 */
function hasFailedForGood(facts: Facts, pod: PodPlan, plan: ContainerPlan): boolean {
  const never = restartPolicyOf(pod, plan) === 'Never' && Number.isFinite(facts.firstFaultAtMs);
  const couldNotStart =
    (never && facts.lives.of(pod.uid, plan.name).length === 0) || hasFailedToStart(pod, plan, facts);
  return couldNotStart || hasFailedUnseen(pod, plan, facts);
}

function containerFault(facts: Facts, pod: PodPlan, plan: ContainerPlan): string | undefined {
  const where = `container ${plan.name} of pod ${pod.uid}`;
  const last = facts.lives.of(pod.uid, plan.name).at(-1);
  if (hasFailedForGood(facts, pod, plan)) return undefined;
  if (last === undefined) return `${where} has never run`;
  if (last.endedAtMs === undefined) return undefined;
  const agoMs = facts.nowMs - last.endedAtMs;
  if (agoMs <= facts.node.backOff.maxMs + longestHooksMs(pod) + LATE_MS) return undefined;
  return `${where} ended ${agoMs} ms ago (${last.end} ${last.exitCode}) and was not restarted`;
}

/** Returns what is left of a pod that is not wanted: a container, a sandbox, a cgroup or a path. */
function leftOver(facts: Facts, look: LastLook): string | undefined {
  const mayStay = (uid: string): boolean => facts.pods.wanted.has(uid) || facts.pods.isUnsure(uid);
  const stray = facts.lives.running.find(({ podUid }) => !mayStay(podUid));
  if (stray !== undefined)
    return `container ${stray.name} of pod ${stray.podUid} is running although its pod is not wanted`;
  for (const { podUid, name } of look.containers) {
    if (!mayStay(podUid)) return `container ${name} of pod ${podUid} is left in the runtime`;
  }
  for (const { podUid, ready } of look.sandboxes) {
    if (!mayStay(podUid)) return `a sandbox (ready: ${ready}) of pod ${podUid} is left in the runtime`;
  }
  const group = look.groups.find((uid) => !mayStay(uid));
  if (group !== undefined) return `the cgroup of pod ${group} is left`;
  for (const uid of facts.pods.knownUids) {
    if (mayStay(uid)) continue;
    const path = look.paths.find(
      (name) =>
        name === `${ROOT_DIRECTORY}/pods/${uid}` || (name.startsWith(POD_LOGS_DIRECTORY) && name.endsWith(`_${uid}`)),
    );
    if (path !== undefined) return `${path} is left on disk`;
  }
  return undefined;
}
