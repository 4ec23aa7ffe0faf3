import type { Facts } from '../facts/facts.ts';
import { type CpusetUpdate, type Held, type HeldMemory, parseCpus } from '../facts/numa-facts.ts';
import type { NumaPlan, NumaPolicies } from '../scenario/numa-plans.ts';
import { isSidecar } from '../scenario/plans.ts';
import type { Life } from '../world/ledger.ts';
import { cpusOfNodes, RESERVED_CPU } from '../world/machine.ts';
import { type Invariant, invariant, type Judgement, judged } from './invariant.ts';
import { cpuShare, cpuShareOf, isPinned, isWhole, memoryShareOf, policiesOf } from './numa-shares.ts';

/** N12: a container that starts on CPUs of its pod gets no CPU that a running container of another pod has. */
export const cpusAreOnes: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (!isPinned(life, facts)) return undefined;
  const mine = parseCpus(life.cpus);
  const other = facts.lives.running.find(
    (one) =>
      one.podUid !== life.podUid && isPinned(one, facts) && parseCpus(one.cpus).some((cpu) => mine.includes(cpu)),
  );
  return judged(
    other && `${subject(life)} started on CPUs ${life.cpus} while ${subject(other)} is running on ${other.cpus}`,
  );
});

/** N12: the state files never give a CPU or memory to two pods, and lose no CPU. */
export const allocationsAreOnes: Invariant = invariant('N12', ['settled'], () => {
  let before: unknown;
  let beforeMemory: unknown;
  return (_, facts) => {
    const { numa, node } = facts;
    const { cpus, podCpus, memory, podMemory } = numa;
    if (node.numa === undefined || (cpus === before && memory === beforeMemory)) return undefined;
    before = cpus;
    beforeMemory = memory;
    const whole = withPods(cpus, podCpus);
    const { cpuOptions } = policiesOf(facts);
    return judged(
      sharedCpu(whole) ??
        lostCpu(whole, numa.shared, node.numa, cpuOptions) ??
        overbooked(insteadOf(memory, podMemory), node.numa),
    );
  };
});

/** Returns the allocations of containers, and those of pods as a whole as if they were allocations of a container. */
function withPods<T>(held: Held<T>, ofPods: ReadonlyMap<string, T>): Held<T> {
  const pods = [...ofPods].map(([uid, whole]) => [uid, new Map(held.get(uid)).set('', whole)] as const);
  return new Map([...held, ...pods]);
}

/** Returns the allocations of containers, replaced by those of their pods if the pods have allocations as a whole. */
function insteadOf<T>(held: Held<T>, ofPods: ReadonlyMap<string, T>): Held<T> {
  return new Map([...held, ...[...ofPods].map(([uid, whole]) => [uid, new Map([['', whole]])] as const)]);
}

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

/** Returns a CPU that neither a pod has nor the other containers share, although it is not strictly reserved. */
export function lostCpu(
  held: Held<readonly number[]>,
  shared: readonly number[],
  plan: NumaPlan,
  cpuOptions: NumaPolicies['cpuOptions'],
): string | undefined {
  const known = new Set([...shared, ...[...held.values()].flatMap((containers) => [...containers.values()].flat())]);
  // Under the policy `none`, the state has no CPUs.
  if (known.size === 0) return undefined;
  if (cpuOptions['strict-cpu-reservation'] === 'true') known.add(RESERVED_CPU);
  const lost = cpusOfNodes(plan)
    .flat()
    .find((cpu) => !known.has(cpu));
  return lost === undefined ? undefined : `no pod has CPU ${lost}, and it is not shared`;
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
  if (numa === undefined || cpuShareOf(life, facts) !== 'own') return undefined;
  const pod = facts.pods.planOf(life.podUid);
  const asked = pod?.whole?.[life.name]?.cpuMillis ?? 0;
  // A pod that was resized before its admission gets the resized number of CPUs.
  const later = facts.numa.resizedTo(life.podUid, life.name) ?? asked;
  const cpus = parseCpus(life.cpus);
  const count = cpus.length === later / 1000 ? cpus.length : asked / 1000;
  const policies = policiesOf(facts);
  // A pod whose CPUs are allocated as a whole gets whole cores, which its containers may divide.
  const divides = isWhole(pod, policies);
  const wrong = misplaced(cpus, count, numa, divides ? { ...policies, cpuOptions: {} } : policies);
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
  if (isPinned(life, facts)) places.push(['CPUs', ({ cpus }) => cpus]);
  const pod = facts.pods.planOf(life.podUid);
  const stays = pod?.containers.some(({ name }) => name === life.name) || (pod && isSidecar(pod, life.name));
  if (stays && memoryShareOf(life, facts) !== 'node')
    places.push(['memory of NUMA nodes', ({ memoryNodes }) => memoryNodes]);
  return places;
}

/** N12: a container starts on the NUMA nodes from which the kubelet's state file gives it memory. */
export const memoryIsStored: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (memoryShareOf(life, facts) === 'node' && facts.pods.planOf(life.podUid)?.podLevel === undefined) return undefined;
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
      if (!isPinned(life, facts)) return undefined;
      return judged(!isStored(life, facts) && `${subject(life)} started on CPUs ${life.cpus}, which are not on disk`);
    }
    if (numa.cpus === before) return undefined;
    before = numa.cpus;
    const lost = lives.running.find((life) => isPinned(life, facts) && !isStored(life, facts));
    return judged(lost && `the CPUs ${lost.cpus} of ${subject(lost)}, which is running, are not on disk any more`);
  };
});

/**
 * N12: the CPUs of a running container that uses CPUs of its pod are not changed, and a container that uses the shared
 * CPUs of the node is neither created with these CPUs nor restricted to them.
 */
export const cpusetsAreKept: Invariant = invariant('N12', ['call'], () => ({ call }, facts) => {
  if (facts.node.numa === undefined) return undefined;
  if (call.name === 'createContainer') return createdOn((call.args[0] ?? {}) as Creation, facts);
  if (call.name !== 'updateContainerResources') return undefined;
  const { containerId = '', linux } = (call.args[0] ?? {}) as CpusetUpdate;
  const cpus = linux?.cpusetCpus ?? '';
  const life = facts.lives.byId(containerId);
  if (cpus === '' || life === undefined) return undefined;
  if (isPinned(life, facts)) {
    const isSame = parseCpus(cpus).join() === parseCpus(life.cpus).join();
    return judged(!isSame && `${subject(life)} runs on exclusive CPUs ${life.cpus}, but was updated to ${cpus}`);
  }
  const owner = ownerOf(parseCpus(cpus), facts);
  return judged(owner && `${subject(life)} gets CPUs ${cpus}, but ${subject(owner)} has ${owner.cpus} for its pod`);
});

function createdOn({ config, sandboxConfig }: Creation, facts: Facts): Judgement {
  const { uid = '' } = sandboxConfig?.metadata ?? {};
  const { name = '' } = config?.metadata ?? {};
  const cpus = config?.linux?.resources?.cpusetCpus ?? '';
  if (cpus === '' || cpuShare(facts.pods.planOf(uid), name, policiesOf(facts)) !== 'node') return undefined;
  const owner = ownerOf(parseCpus(cpus), facts);
  const whose = owner && `${subject(owner)} has ${owner.cpus} for its pod`;
  return judged(whose && `container ${name} of pod ${uid} is created on CPUs ${cpus}, but ${whose}`);
}

/** Returns a running container whose pod has one of the CPUs. */
function ownerOf(cpus: readonly number[], facts: Facts): Life | undefined {
  return facts.lives.running.find(
    (one) => isPinned(one, facts) && parseCpus(one.cpus).some((cpu) => cpus.includes(cpu)),
  );
}

interface Creation {
  readonly config?: {
    readonly metadata?: { readonly name?: string };
    readonly linux?: { readonly resources?: { readonly cpusetCpus?: string } };
  };
  readonly sandboxConfig?: { readonly metadata?: { readonly uid?: string } };
}

/**
 * N12: at the end, no container runs on CPUs of another pod. Not judged if the shared pool is empty, which is possible
 * with `strict-cpu-reservation`: containers that use the shared pool then keep the CPUs that they had. Upstream does the
 * same (`pkg/kubelet/cm/cpumanager/cpu_manager.go: reconcileState` skips a container whose CPUs are empty).
 */
export const strangersAreMoved: Invariant = invariant('N12', ['end'], () => (_, facts) => {
  const { lives, numa } = facts;
  if (facts.node.numa === undefined || numa.shared.length === 0) return undefined;
  for (const life of lives.running) {
    const cpus = numa.cpusOf(life);
    const owner = lives.running.find(
      (one) => one.podUid !== life.podUid && isPinned(one, facts) && numa.cpusOf(one).some((cpu) => cpus.includes(cpu)),
    );
    if (owner) return { wrong: `${subject(life)} runs on CPUs ${cpus.join()}, which ${subject(owner)} has` };
  }
  return 'ok';
});

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
  const uids = [numa.cpus, numa.podCpus, numa.memory, numa.podMemory].flatMap((held) => [...held.keys()]);
  const gone = uids.find((uid) => !pods.wanted.has(uid) && !pods.isUnsure(uid));
  return gone && `pod ${gone} is gone and still has CPUs or memory`;
}

function isStored(life: Life, { numa }: Facts): boolean {
  return numa.cpus.get(life.podUid)?.get(life.name)?.join() === parseCpus(life.cpus).join();
}

/** Returns a container as text. */
export function subject({ podUid, name }: Life): string {
  return `container ${name} of pod ${podUid}`;
}
