import type { Facts } from '../facts/facts.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { devicesVariable } from '../world/device-plugins.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';
import { isForLack } from './resources.ts';

/** Time for a plugin and a kubelet to connect and to report the devices. */
const TOLD_MS = 5000;

/** N8: no two running containers have the same device. */
export const devicesAreOnes: Invariant = invariant('N8', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
  const { life } = observation;
  const mine = namesOf(life);
  if (mine.length === 0) return undefined;
  const other = facts.lives.running.find(
    (one) => one !== life && !isSame(one, life) && namesOf(one).some((name) => mine.includes(name)),
  );
  return judged(
    other &&
      `${subject(life)} started with ${mine.join(', ')} while ${subject(other)} is running with ${namesOf(other).join(', ')}`,
  );
});

/** N8: the kubelet's checkpoint never allocates a device to two pods. */
export const holdersAreOnes: Invariant = invariant('N8', ['settled'], () => {
  let before: Facts['devices']['held'] = [];
  return (observation, { devices: { held } }) => {
    if (observation.kind !== 'settled' || held === before) return undefined;
    before = held;
    const holders = new Map<string, string>();
    for (const { uid, resource, ids } of held) {
      for (const id of ids) {
        const name = `${resource}/${id}`;
        const holder = holders.get(name) ?? uid;
        if (holder !== uid) return { wrong: `pods ${holder} and ${uid} are both allocated ${name} in the checkpoint` };
        holders.set(name, uid);
      }
    }
    return 'ok';
  };
});

/** N8: a container has as many devices as it requests, all different and existing. */
export const devicesAreEnough: Invariant = invariant('N8', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
  const { life } = observation;
  const asked = facts.pods.planOf(life.podUid)?.devices?.[life.name];
  if (asked === undefined) return undefined;
  for (const { resource, count } of facts.node.devices) {
    const wanted = asked[resource] ?? 0;
    const given = givenOf(life, resource);
    // Until the device plugin has registered the resource, a kubelet does not know that the resource is a device.
    if (given.length === 0 && facts.devices.registeredAtMs(resource) >= facts.decidedAtMs(life)) continue;
    const known = new Set(given.filter((id) => Number(id.slice(1)) < count));
    if (given.length !== wanted || known.size !== wanted) {
      return {
        wrong: `${subject(life)} requests ${wanted} of ${resource} and started with ${given.join(', ') || 'none'}`,
      };
    }
  }
  return 'ok';
});

/** N8: a restarted container keeps its devices across restarts of the kubelet and of plugins. */
export const devicesStay: Invariant = invariant('N8', ['containerStarted', 'podRefused', 'stepEnded'], () => {
  /** Times at which each pod was last rejected or stopped. After a kubelet restart, static pods are started again. */
  const overAtMs = new Map<string, number>();
  return (observation, facts) => {
    const hasStopped = observation.kind === 'stepEnded' && observation.step === 'syncTerminatingPod' && observation.ok;
    if (observation.kind === 'podRefused' || hasStopped) overAtMs.set(observation.uid, observation.atMs);
    if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
    const { life } = observation;
    const before = facts.lives.of(life.podUid, life.name).at(-2);
    if (before === undefined || namesOf(before).length === 0) return undefined;
    const { pods } = facts;
    // A pod releases its devices when it is removed, rejected or terminated. A pod that may have been removed for some
    // kubelet may have released its devices.
    const letGoAtMs = Math.max(pods.lastUnwantedAtMs(life.podUid), overAtMs.get(life.podUid) ?? -1);
    const wasGone = letGoAtMs >= facts.decidedAtMs(before) || facts.wasOrphaned(life.podUid);
    if (wasGone || pods.isUnsure(life.podUid) || pods.isBroken(life.podUid)) return undefined;
    const had = namesOf(before);
    return judged(
      had.some((name) => !namesOf(life).includes(name)) &&
        `${subject(life)} had ${had.join(', ')} and was restarted with ${namesOf(life).join(', ') || 'none'}`,
    );
  };
});

/** Upstream's messages for the rejection of a pod that cannot get its devices. */
const REFUSALS = [
  /^cannot allocate unregistered device \S+$/,
  /^no healthy devices present; cannot allocate unhealthy devices \S+$/,
  /^previously allocated devices are no longer healthy; cannot allocate unhealthy devices \S+$/,
  /^requested number of devices unavailable for \S+\. Requested: \d+, Available: \d+$/,
  /^unknown Device Plugin \S+$/,
  /^endpoint \S+ has been stopped$/,
  /^failed to write checkpoint file "kubelet_internal_checkpoint": /,
  /^rpc error: code = \w+ desc = /,
];

const PREEMPTION =
  'Pod was rejected: Unexpected error while attempting to recover from admission failure: preemption: ';

/** N8: a pod that cannot get its devices is rejected with one of upstream's messages. */
export const refusedInWords: Invariant = invariant('N8', ['status'], () => (observation, facts) => {
  if (observation.kind !== 'status' || facts.node.devices === undefined || facts.node.numa !== undefined)
    return undefined;
  const { pod, status } = observation.status;
  const { uid } = pod.metadata;
  if (status.phase !== 'Failed' || facts.pods.planOf(uid)?.devices === undefined) return undefined;
  if (status.reason !== 'UnexpectedAdmissionError') return undefined;
  // If the API server knows fewer devices, the kubelet tries to preempt pods for a critical pod, as for any resource.
  if (status.message?.startsWith(PREEMPTION)) return undefined;
  const why =
    /^Pod was rejected: Allocate failed due to (.*), which is unexpected$/s.exec(status.message ?? '')?.[1] ?? '';
  return judged(!REFUSALS.some((words) => words.test(why)) && `pod ${uid} was rejected with: ${status.message}`);
});

/** N8: no pod is rejected for lack of devices if the plugin has enough devices that no other pod may hold. */
export const refusedForLackOfDevices: Invariant = invariant('N8', ['podRefused'], () => (observation, facts) => {
  const { devices: plugins } = facts.node;
  if (observation.kind !== 'podRefused' || !isForLack(observation.reason) || plugins === undefined) return undefined;
  const { uid } = observation;
  const plan = facts.pods.planOf(uid);
  // On a node with NUMA nodes, a pod may also lack CPUs or memory.
  if (facts.node.numa !== undefined) return undefined;
  if (plan?.devices === undefined) return { wrong: `pod ${uid} was rejected for devices although it requests none` };
  if (facts.firstFaultAtMs < observation.atMs) return undefined;
  const isDue = plugins.every(({ resource }) => {
    const sinceMs = Math.max(facts.devices.troubledUntilMs(resource), facts.kubeletStartedAtMs);
    return observation.atMs - sinceMs > TOLD_MS && observation.atMs - facts.devices.registeredAtMs(resource) > TOLD_MS;
  });
  if (!isDue) return undefined;
  const others = facts.pods.knownUids.filter((other) => other !== uid && !facts.resources.isRefused(other));
  const lacks = plugins.some(({ resource, count }) => {
    const held = others.reduce((sum, other) => sum + mostOf(facts.pods.planOf(other), resource), 0);
    return mostOf(plan, resource) > count - held;
  });
  return judged(!lacks && `pod ${uid} was rejected although enough devices are free`);
});

/** W6: a hanging plugin delays only pods that request devices. */
export const pluginsHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.devices.hangsUntilMs > facts.nowMs,
    (pod) => pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

/** Returns the number of devices of a resource that all containers of a pod request together. */
function mostOf(pod: PodPlan | undefined, resource: string): number {
  return Object.values(pod?.devices ?? {}).reduce((sum, asked) => sum + (asked[resource] ?? 0), 0);
}

function namesOf({ devices }: Life): readonly string[] {
  return Object.entries(devices).flatMap(([variable, ids]) => ids.map((id) => `${variable}/${id}`));
}

function givenOf({ devices }: Life, resource: string): readonly string[] {
  return devices[devicesVariable(resource)] ?? [];
}

function isSame(a: Life, b: Life): boolean {
  return a.podUid === b.podUid && a.name === b.name;
}

function subject({ podUid, name }: Life): string {
  return `container ${name} of pod ${podUid}`;
}
