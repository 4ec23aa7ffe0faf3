import type { Facts } from '../facts/facts.ts';
import type { PodPlan } from '../scenario/plans.ts';
import { devicesVariable } from '../world/device-plugins.ts';
import type { Life } from '../world/ledger.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { startsPromptly } from './node.ts';
import { isForLack } from './resources.ts';

/** A plugin and a kubelet need so long to find each other and to tell what there is. */
const TOLD_MS = 5000;

/** N8: no two containers that run have the same device. */
export const devicesAreOnes: Invariant = invariant('N8', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
  const { life } = observation;
  const mine = namesOf(life);
  if (mine.length === 0) return undefined;
  const other = facts.lives.running.find(
    (one) => one !== life && !isSame(one, life) && namesOf(one).some((name) => mine.includes(name)),
  );
  return judged(
    other && `${who(life)} starts with ${mine.join(', ')}, and ${who(other)} runs with ${namesOf(other).join(', ')}`,
  );
});

/** N8: nor are two pods said to hold the same one. */
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
        if (holder !== uid) return { wrong: `pods ${holder} and ${uid} are both written to hold ${name}` };
        holders.set(name, uid);
      }
    }
    return 'ok';
  };
});

/** N8: a container has as many devices as it asks for, all of them different ones that there are. */
export const devicesAreEnough: Invariant = invariant('N8', ['containerStarted'], () => (observation, facts) => {
  if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
  const { life } = observation;
  const asked = facts.pods.planOf(life.podUid)?.devices?.[life.name];
  if (asked === undefined) return undefined;
  for (const { resource, count } of facts.node.devices) {
    const wanted = asked[resource] ?? 0;
    const given = givenOf(life, resource);
    // Before its plugin has told what it has, a resource is nobody's.
    if (given.length === 0 && facts.devices.registeredAtMs(resource) >= facts.decidedAtMs(life)) continue;
    const known = new Set(given.filter((id) => Number(id.slice(1)) < count));
    if (given.length !== wanted || known.size !== wanted) {
      return { wrong: `${who(life)} asks for ${wanted} of ${resource} and starts with ${given.join(', ') || 'none'}` };
    }
  }
  return 'ok';
});

/** N8: a container that begins anew has the devices that it had, whatever became of the kubelet and of its plugins meanwhile. */
export const devicesStay: Invariant = invariant('N8', ['containerStarted', 'podRefused', 'stepEnded'], () => {
  /** When each pod was last refused, or had come to its end: one of a manifest begins anew with the next kubelet. */
  const overAtMs = new Map<string, number>();
  return (observation, facts) => {
    const hasStopped = observation.kind === 'stepEnded' && observation.step === 'syncTerminatingPod' && observation.ok;
    if (observation.kind === 'podRefused' || hasStopped) overAtMs.set(observation.uid, observation.atMs);
    if (observation.kind !== 'containerStarted' || facts.node.devices === undefined) return undefined;
    const { life } = observation;
    const before = facts.lives.of(life.podUid, life.name).at(-2);
    if (before === undefined || namesOf(before).length === 0) return undefined;
    const { pods } = facts;
    // A pod that was gone meanwhile, or may have been for a kubelet, or that one has refused or ended, has let them go.
    const letGoAtMs = Math.max(pods.lastUnwantedAtMs(life.podUid), overAtMs.get(life.podUid) ?? -1);
    const wasGone = letGoAtMs >= facts.decidedAtMs(before) || facts.wasOrphaned(life.podUid);
    if (wasGone || pods.isUnsure(life.podUid) || pods.isBroken(life.podUid)) return undefined;
    const had = namesOf(before);
    return judged(
      had.some((name) => !namesOf(life).includes(name)) &&
        `${who(life)} had ${had.join(', ')} and starts again with ${namesOf(life).join(', ') || 'none'}`,
    );
  };
});

/** What a kubelet says to a pod that cannot have its devices: upstream's words. */
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

/** N8: a pod that cannot have its devices is refused in upstream's words. */
export const refusedInWords: Invariant = invariant('N8', ['status'], () => (observation, facts) => {
  if (observation.kind !== 'status' || facts.node.devices === undefined) return undefined;
  const { pod, status } = observation.status;
  const { uid } = pod.metadata;
  if (status.phase !== 'Failed' || facts.pods.planOf(uid)?.devices === undefined) return undefined;
  if (status.reason !== 'UnexpectedAdmissionError') return undefined;
  // Where the API server knows of fewer devices, room is looked for as for any resource of a critical pod.
  if (status.message?.startsWith(PREEMPTION)) return undefined;
  const why =
    /^Pod was rejected: Allocate failed due to (.*), which is unexpected$/s.exec(status.message ?? '')?.[1] ?? '';
  return judged(!REFUSALS.some((words) => words.test(why)) && `pod ${uid} is refused with: ${status.message}`);
});

/** N8: no pod is refused for a lack of devices that its plugin has for it, and nobody else may hold. */
export const refusedForLackOfDevices: Invariant = invariant('N8', ['podRefused'], () => (observation, facts) => {
  const { devices: plugins } = facts.node;
  if (observation.kind !== 'podRefused' || !isForLack(observation.reason) || plugins === undefined) return undefined;
  const { uid } = observation;
  const plan = facts.pods.planOf(uid);
  if (plan?.devices === undefined) return { wrong: `pod ${uid} asks for no devices, and is refused` };
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
  return judged(!lacks && `pod ${uid} is refused, and there are devices enough for it`);
});

/** W6: a plugin that does not answer holds up the pods alone that ask for devices. */
export const pluginsHangAlone: Invariant = invariant('W6', ['health'], () =>
  startsPromptly(
    (facts) => facts.devices.hangsUntilMs > facts.nowMs,
    (pod) => pod.foreign === true || pod.containers.some(({ slowImage }) => slowImage === true),
  ),
);

/** All that a pod may hold of a resource. */
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

function who({ podUid, name }: Life): string {
  return `container ${name} of pod ${podUid}`;
}
