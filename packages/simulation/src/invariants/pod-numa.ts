import type { HeldMemory } from '../facts/numa-facts.ts';
import { parseCpus } from '../facts/numa-facts.ts';
import type { WholePlan } from '../scenario/numa-plans.ts';
import { isSidecar, type PodPlan } from '../scenario/plans.ts';
import { type Invariant, invariant, judged } from './invariant.ts';
import { misplaced, subject } from './numa.ts';
import { cpuShareOf, isWhole, memoryShareOf, policiesOf, wholeCpus } from './numa-shares.ts';

/**
 * N12: a container of a pod whose CPUs are allocated as a whole starts on CPUs of its pod: on as many as it requests, or
 * on all that remain to it. The CPUs of the pod are as many as the pod requests, placed as the policy requires.
 */
export const podCpusAreDivided: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  const { numa } = facts.node;
  if (numa === undefined) return undefined;
  const pod = facts.pods.planOf(life.podUid);
  const policies = policiesOf(facts);
  if (pod === undefined || !isWhole(pod, policies)) return undefined;
  const share = cpuShareOf(life, facts);
  if (share === 'node') return undefined;
  const ofPod = facts.numa.podCpus.get(life.podUid);
  if (ofPod === undefined) return { wrong: `${subject(life)} started, but its pod has no CPUs on disk` };
  const cpus = parseCpus(life.cpus);
  const wrong =
    (misplaced(ofPod, wholeCpus(pod.podLevel), numa, policies) && `the CPUs of its pod are ${ofPod.join()}`) ??
    misdivided(pod, life.name, cpus, ofPod, facts.numa.cpus.get(life.podUid) ?? new Map());
  return judged(wrong && `${subject(life)} started on CPUs ${life.cpus}: ${wrong}`);
});

/**
 * Returns what is wrong with the CPUs of a container, as text, if the CPUs were divided among the containers of its pod.
 * @param ofPod CPUs of the pod
 * @param stored CPUs of the pod's containers, by name
 */
export function misdivided(
  pod: PodPlan,
  name: string,
  cpus: readonly number[],
  ofPod: readonly number[],
  stored: ReadonlyMap<string, readonly number[]>,
): string | undefined {
  const strange = cpus.find((cpu) => !ofPod.includes(cpu));
  if (strange !== undefined) return `its pod does not have CPU ${strange}`;
  if (wholeCpus(pod.whole?.[name]) > 0) return undefined;
  const taken = besides(pod, name).flatMap((other) =>
    wholeCpus(pod.whole?.[other]) > 0 ? (stored.get(other) ?? []) : [],
  );
  const rest = ofPod.filter((cpu) => !taken.includes(cpu)).join();
  return cpus.join() === rest ? undefined : `its pod has left CPUs ${rest}`;
}

/** N12: containers with exclusive CPUs that run at the same time in one sandbox have no CPU in common. */
export const siblingsAreApart: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (cpuShareOf(life, facts) !== 'own') return undefined;
  const mine = parseCpus(life.cpus);
  const other = facts.lives
    .runningOf(life.podUid)
    .find(
      (one) =>
        one.id !== life.id &&
        one.sandboxId === life.sandboxId &&
        cpuShareOf(one, facts) === 'own' &&
        parseCpus(one.cpus).some((cpu) => mine.includes(cpu)),
    );
  return judged(other && `${subject(life)} started on CPUs ${life.cpus} while ${subject(other)} runs on ${other.cpus}`);
});

/**
 * N12: a container of a pod whose memory is allocated as a whole has memory of the pod's NUMA nodes: as much as it
 * requests, or all that remains to it. The pod has as much memory as it requests.
 */
export const podMemoryIsDivided: Invariant = invariant('N12', ['containerStarted'], () => ({ life }, facts) => {
  if (facts.node.numa === undefined) return undefined;
  const pod = facts.pods.planOf(life.podUid);
  if (pod === undefined || !isWhole(pod, policiesOf(facts)) || memoryShareOf(life, facts) === 'node') return undefined;
  const ofPod = facts.numa.podMemory.get(life.podUid) ?? [];
  const held = facts.numa.memory.get(life.podUid)?.get(life.name);
  // The memory of an init container leaves the state when a later container starts, as in upstream.
  if (held === undefined && pod.init.some(({ name }) => name === life.name)) return undefined;
  const wrong = memoryFault(pod, life.name, ofPod, held ?? []);
  return judged(wrong && `${subject(life)} started: ${wrong}`);
});

/** Returns what is wrong with the memory of a pod or one of its containers, as text, if the pod has memory as a whole. */
export function memoryFault(
  pod: PodPlan,
  name: string,
  ofPod: readonly HeldMemory[],
  held: readonly HeldMemory[],
): string | undefined {
  const total = amountsOf(pod.podLevel);
  if (!sameAmounts(total, ofPod)) return `its pod has ${textOf(ofPod)}`;
  const nodes = ofPod[0]?.nodes.join();
  if ([...ofPod, ...held].some((block) => block.nodes.join() !== nodes)) {
    return `it has ${textOf(held)}, and its pod has ${textOf(ofPod)}`;
  }
  const own = pod.whole?.[name];
  const left = new Map(own === undefined ? total : amountsOf(own));
  if (own === undefined) {
    for (const other of besides(pod, name)) {
      for (const [resource, bytes] of amountsOf(pod.whole?.[other])) {
        left.set(resource, (left.get(resource) ?? 0) - bytes);
      }
    }
  }
  return sameAmounts(left, held)
    ? undefined
    : `it has ${textOf(held)}, must have ${[...left].map(([resource, bytes]) => `${bytes} bytes of ${resource}`).join(' and ')}`;
}

/**
 * Returns the containers whose CPUs and memory a container without resources cannot use: the sidecars before an init
 * container, or all sidecars and main containers.
 */
function besides(pod: PodPlan, name: string): readonly string[] {
  const sidecars = (plans: PodPlan['init']): readonly string[] =>
    plans.filter((one) => isSidecar(pod, one.name)).map((one) => one.name);
  const at = pod.init.findIndex((one) => one.name === name);
  if (at >= 0 && !isSidecar(pod, name)) return sidecars(pod.init.slice(0, at));
  return [...sidecars(pod.init), ...pod.containers.map((one) => one.name)];
}

function amountsOf(plan: WholePlan | undefined): ReadonlyMap<string, number> {
  if (plan === undefined) return new Map();
  const { memoryMi, hugePages = 0 } = plan;
  return new Map([
    ['memory', memoryMi * 2 ** 20],
    ...(hugePages > 0 ? [['hugepages-2Mi', hugePages * 2 ** 21] as const] : []),
  ]);
}

function sameAmounts(amounts: ReadonlyMap<string, number>, held: readonly HeldMemory[]): boolean {
  const wanted = [...amounts].filter(([, bytes]) => bytes > 0);
  return (
    wanted.length === held.length &&
    wanted.every(([resource, bytes]) => held.some((block) => block.resource === resource && block.bytes === bytes))
  );
}

function textOf(held: readonly HeldMemory[]): string {
  const blocks = held.map(
    ({ resource, bytes, nodes }) => `${bytes} bytes of ${resource} of NUMA nodes ${nodes.join()}`,
  );
  return blocks.join(' and ') || 'no memory';
}
