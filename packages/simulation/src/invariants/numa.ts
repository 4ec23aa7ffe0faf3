import type { Facts } from '../facts/facts.ts';
import { type Held, type HeldMemory, parseCpus } from '../facts/numa-facts.ts';
import type { NumaPlan, NumaPolicies } from '../scenario/numa-plans.ts';
import { isSidecar } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { cpusOfNodes, RESERVED_CPU } from '../world/machine.ts';
import { type Invariant, invariant, judged } from './invariant.ts';

/** N12: a container that starts gets no CPU that is exclusive to a running container of another pod. */
export const cpusAreOnes: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (!isExclusive(life, facts)) return undefined;
  const mine = parseCpus(life.cpus);
  const other = facts.lives.running.find(
    (one) =>
      one.podUid !== life.podUid && isExclusive(one, facts) && parseCpus(one.cpus).some((cpu) => mine.includes(cpu)),
  );
  return judged(
    other && `${subject(life)} started on CPUs ${life.cpus} while ${subject(other)} is running on ${other.cpus}`,
  );
});

/** N12: the state files never give a CPU or memory to two pods. */
export const allocationsAreOnes: Invariant = invariant('N12', ['settled'], () => {
  let before: unknown;
  let beforeMemory: unknown;
  return (_, { numa: { cpus, memory }, node }) => {
    if (node.numa === undefined || (cpus === before && memory === beforeMemory)) return undefined;
    before = cpus;
    beforeMemory = memory;
    return judged(sharedCpu(cpus) ?? overbooked(memory, node.numa));
  };
});

/** Returns a CPU that two pods have. */
export function sharedCpu(held: Held<readonly number[]>): string | undefined {
  const holders = new Map<number, string>();
  for (const [uid, containers] of held) {
    for (const cpu of [...containers.values()].flat()) {
      const holder = holders.get(cpu) ?? uid;
      if (holder !== uid) return `pods ${holder} and ${uid} both have CPU ${cpu}`;
      holders.set(cpu, uid);
    }
  }
  return undefined;
}

/** Returns a group of NUMA nodes from which more memory is allocated to containers than the group has. */
export function overbooked(
  held: Held<readonly HeldMemory[]>,
  { memoryMiPerNode, hugePagesPerNode }: Pick<NumaPlan, 'memoryMiPerNode' | 'hugePagesPerNode'>,
): string | undefined {
  const sums = new Map<string, number>();
  const blocks = [...held.values()].flatMap((containers) => [...containers.values()].flat());
  for (const { nodes, resource, bytes } of blocks) {
    const key = `${resource} of NUMA nodes ${nodes.join()}`;
    const sum = (sums.get(key) ?? 0) + bytes;
    const mebibytes = resource === 'memory' ? memoryMiPerNode : 2 * hugePagesPerNode;
    const most = nodes.length * mebibytes * 2 ** 20;
    if (sum > most) return `containers have ${sum} bytes of ${most} bytes of ${key}`;
    sums.set(key, sum);
  }
  return undefined;
}

/**
 * N12: a container gets as many CPUs as it requests, none of them offline or reserved, placed as the policy requires.
 */
export const cpusAreRight: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  const { numa } = facts.node;
  if (numa === undefined || !isExclusive(life, facts)) return undefined;
  const asked = facts.pods.planOf(life.podUid)?.whole?.[life.name]?.cpuMillis ?? 0;
  // A pod that was resized before its admission gets the resized number of CPUs.
  const later = facts.numa.resizedTo(life.podUid, life.name) ?? asked;
  const cpus = parseCpus(life.cpus);
  const count = cpus.length === later / 1000 ? cpus.length : asked / 1000;
  const wrong = misplaced(cpus, count, numa, policiesOf(facts));
  return judged(wrong && `${subject(life)} started on CPUs ${life.cpus}: ${wrong}`);
});

/** Returns what is wrong with the exclusive CPUs of a container, as text, or `undefined` if the CPUs are right. */
export function misplaced(
  cpus: readonly number[],
  count: number,
  plan: NumaPlan,
  { topology, cpuOptions }: NumaPolicies,
): string | undefined {
  const nodes = cpusOfNodes(plan);
  if (cpus.length !== count) return `it requests ${count}`;
  const strange = cpus.find((cpu) => !nodes.some((all) => all.includes(cpu)));
  if (strange !== undefined) return `CPU ${strange} is not online`;
  if (cpus.includes(RESERVED_CPU)) return `CPU ${RESERVED_CPU} is reserved`;
  const used = nodes.filter((all) => cpus.some((cpu) => all.includes(cpu)));
  if (topology === 'single-numa-node' && used.length > 1) return 'they are on several NUMA nodes';
  if (cpuOptions['full-pcpus-only'] !== 'true' || plan.threads === 1 || plan.offline.length > 0) return undefined;
  const cores = plan.numaNodes * plan.coresPerNode;
  const half = cpus.find((cpu) => !cpus.includes(cpu < cores ? cpu + cores : cpu - cores));
  return half === undefined ? undefined : `CPU ${half} is half a core`;
}

/** N12: a restarted container has the exclusive CPUs and the memory of the NUMA nodes that it had before. */
export const placesStay: Invariant = invariant('N12', ['containerStarted', 'podRefused', 'stepEnded'], () => {
  const overAtMs = new Map<string, number>();
  return (observation, facts) => {
    const hasStopped = observation.kind === 'stepEnded' && observation.step === 'syncTerminatingPod' && observation.ok;
    if (observation.kind === 'podRefused' || hasStopped) overAtMs.set(observation.uid, observation.atMs);
    if (observation.kind !== 'containerStarted' || facts.node.numa === undefined) return undefined;
    const { life } = observation;
    const before = facts.lives.of(life.podUid, life.name).at(-2);
    if (before === undefined || before.startedAtMs <= facts.numa.changedAtMs) return undefined;
    const places = placesOf(life, facts);
    if (places.length === 0) return undefined;
    const { pods } = facts;
    const letGoAtMs = Math.max(pods.lastUnwantedAtMs(life.podUid), overAtMs.get(life.podUid) ?? -1);
    const wasGone = letGoAtMs >= facts.decidedAtMs(before) || facts.wasOrphaned(life.podUid);
    if (wasGone || pods.isUnsure(life.podUid) || pods.isBroken(life.podUid)) return undefined;
    const other = places.find(([, place]) => place(before) !== place(life));
    return judged(
      other && `${subject(life)} had ${other[0]} ${other[1](before)} and was restarted on ${other[1](life)}`,
    );
  };
});

/**
 * Returns the kinds of places that a container has for itself, each with a function that returns a run's places. The
 * memory of an init container is freed when a later container starts, so an init container that runs again after that
 * may use the memory of all NUMA nodes, as in upstream.
 */
function placesOf(life: Life, facts: Facts): readonly (readonly [string, (life: Life) => string])[] {
  const places: [string, (life: Life) => string][] = [];
  if (isExclusive(life, facts)) places.push(['CPUs', ({ cpus }) => cpus]);
  const pod = facts.pods.planOf(life.podUid);
  const stays = pod?.containers.some(({ name }) => name === life.name) || (pod && isSidecar(pod, life.name));
  if (stays && hasOwnMemory(life, facts)) places.push(['memory of NUMA nodes', ({ memoryNodes }) => memoryNodes]);
  return places;
}

/** N12: a container starts on the NUMA nodes from which the kubelet's state file gives it memory. */
export const memoryIsStored: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (!hasOwnMemory(life, facts)) return undefined;
  const blocks = facts.numa.memory.get(life.podUid)?.get(life.name) ?? [];
  const stored = [...new Set(blocks.flatMap(({ nodes }) => nodes))].sort((a, b) => a - b).join();
  return judged(
    parseCpus(life.memoryNodes).join() !== stored &&
      `${subject(life)} started with memory of NUMA nodes ${life.memoryNodes}, but ${stored || 'none'} are on disk`,
  );
});

/**
 * N12: the exclusive CPUs of a container are in the kubelet's state file before the container starts and while it runs.
 */
export const cpusAreStored: Invariant = invariant('N12', ['containerStarted', 'settled'], () => {
  let before: unknown;
  return (observation, facts) => {
    const { numa, node, lives } = facts;
    if (node.numa === undefined) return undefined;
    if (observation.kind === 'containerStarted') {
      const { life } = observation;
      if (!isExclusive(life, facts)) return undefined;
      return judged(!isStored(life, facts) && `${subject(life)} started on CPUs ${life.cpus}, which are not on disk`);
    }
    if (numa.cpus === before) return undefined;
    before = numa.cpus;
    const lost = lives.running.find((life) => isExclusive(life, facts) && !isStored(life, facts));
    return judged(lost && `the CPUs ${lost.cpus} of ${subject(lost)}, which is running, are not on disk any more`);
  };
});

/** N12: the CPUs of a running container are not changed, and no other container gets them. */
export const cpusetsAreKept: Invariant = invariant('N12', ['call'], () => ({ call }, facts) => {
  if (facts.node.numa === undefined || call.name !== 'updateContainerResources') return undefined;
  const { containerId = '', linux } = (call.args[0] ?? {}) as Update;
  const cpus = linux?.cpusetCpus ?? '';
  const life = facts.lives.byId(containerId);
  if (cpus === '' || life === undefined) return undefined;
  if (isExclusive(life, facts)) {
    const isSame = parseCpus(cpus).join() === parseCpus(life.cpus).join();
    return judged(!isSame && `${subject(life)} runs on exclusive CPUs ${life.cpus}, but was updated to ${cpus}`);
  }
  const given = parseCpus(cpus);
  const owner = facts.lives.running.find(
    (one) => isExclusive(one, facts) && parseCpus(one.cpus).some((cpu) => given.includes(cpu)),
  );
  return judged(owner && `${subject(life)} gets CPUs ${cpus}, but ${subject(owner)} has ${owner.cpus} for itself`);
});

interface Update {
  readonly containerId?: string;
  readonly linux?: { readonly cpusetCpus?: string };
}

/** N12: the CPUs and memory of a pod are free when the pod is gone. */
export const cpusAreFreed: Invariant = invariant(
  'N12',
  ['end'],
  () => (_, facts) => (facts.node.numa === undefined ? undefined : judged(heldByNobody(facts))),
);

/** Returns a pod that is not wanted any more and still has CPUs or memory, as text. */
export function heldByNobody(facts: Facts): string | undefined {
  const { numa, pods, node } = facts;
  // Under the policy `none` for CPUs, memory is only freed by the next admission of a pod, as in upstream.
  if (node.numa === undefined || policiesOf(facts).cpu === 'none') return undefined;
  const uids = [...numa.cpus.keys(), ...numa.memory.keys()];
  const gone = uids.find((uid) => !pods.wanted.has(uid) && !pods.isUnsure(uid));
  return gone && `pod ${gone} is gone and still has CPUs or memory`;
}

function isStored(life: Life, { numa }: Facts): boolean {
  return numa.cpus.get(life.podUid)?.get(life.name)?.join() === parseCpus(life.cpus).join();
}

function policiesOf({ node, numa }: Facts): NumaPolicies {
  const { policies = [] } = node.numa ?? {};
  return policies[Math.min(numa.changes, policies.length - 1)] as NumaPolicies;
}

/** Reports whether a container requests exclusive CPUs, and started under the current policy, which gives them. */
function isExclusive({ podUid, name, startedAtMs, cpus }: Life, facts: Facts): boolean {
  const millis = facts.pods.planOf(podUid)?.whole?.[name]?.cpuMillis ?? 0;
  if (facts.node.numa === undefined || millis < 1000 || millis % 1000 !== 0 || cpus === '') return false;
  return startedAtMs >= facts.numa.changedAtMs && policiesOf(facts).cpu === 'static';
}

/** Reports whether a container of a Guaranteed pod started under the current policy, which gives it memory of its own. */
function hasOwnMemory({ podUid, name, startedAtMs }: Life, facts: Facts): boolean {
  if (facts.node.numa === undefined || facts.pods.planOf(podUid)?.whole?.[name] === undefined) return false;
  return startedAtMs >= facts.numa.changedAtMs && policiesOf(facts).memory === 'Static';
}

function subject({ podUid, name }: Life): string {
  return `container ${name} of pod ${podUid}`;
}
