import { type Container, hasPodLevelResources, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import { compareAnswers } from './compare-answers.ts';
import type { Answer, Sequence } from './sequence.ts';
import { topologies } from './topologies.ts';

/** The step at which the two sides differ, and all answers of both sides. */
export interface Situation {
  readonly sequence: Sequence;
  /**
   * Index of the differing answers. The index of the step is lower by 1, because the first answer describes the start.
   */
  readonly at: number;
  readonly upstream: readonly Answer[];
  readonly ours: readonly Answer[];
}

interface Purpose {
  readonly reason: string;
  readonly explains: (situation: Situation) => boolean;
}

const UNEQUAL_CORES =
  'upstream gives reserved CPUs or those of another container, on a machine whose cores differ in CPUs online';

/** Intended differences, each with the reason that `docs/differences.md` gives. */
const PURPOSES: readonly Purpose[] = [
  {
    reason: UNEQUAL_CORES,
    explains: ({ sequence, at, upstream }) => givesTaken(sequence, at, upstream[at]),
  },
  {
    // Matches any rejection by upstream: its answer then does not show which CPUs upstream had given to the first
    // containers.
    reason: UNEQUAL_CORES,
    explains: ({ sequence, at, upstream }) =>
      hasUnequalCores(sequence) && sequence.config.cpuManagerPolicy === 'static' && upstream[at]?.admit === false,
  },
  {
    reason:
      'over four or more nodes, distribute-cpus-across-numa does not use the combination that upstream found best',
    explains: distributesOtherwise,
  },
  {
    reason:
      'with full-pcpus-only, upstream does not count the cores of init containers or those that a pod already has',
    explains: missesCores,
  },
  {
    reason: 'upstream does not start with strict-cpu-reservation if all CPUs that are not reserved are exclusive',
    explains: ({ at, upstream }) => upstream[at]?.error?.includes('default cpuset cannot be empty') ?? false,
  },
  {
    reason:
      'upstream may not start if a container has memory of a node alone that is in a group, as its order is random',
    explains: ({ at, upstream, ours }) =>
      (upstream[at]?.error?.includes('the expected machine state is different') ?? false) && groupsOverlap(ours[at]),
  },
  {
    reason: 'upstream rejects a pod with pod-level resources if a container of it gets no memory for itself',
    explains: (situation) =>
      managedPod(situation) !== undefined &&
      (situation.upstream[situation.at]?.message?.includes('[memorymanager]') ?? false),
  },
  {
    reason: 'upstream gives CPUs and memory to a pod with pod-level resources again when the kubelet is restarted',
    explains: (situation) => {
      const pod = managedPod(situation);
      return pod !== undefined && isKnown(situation.sequence, situation.at, pod);
    },
  },
  {
    reason: 'with full-pcpus-only, upstream may split a core of which one CPU is reserved',
    explains: splitsCore,
  },
  {
    reason: 'upstream gives memory to init containers again that had freed it before the restart',
    explains: allocatesFreedMemory,
  },
  {
    reason: 'with strict-cpu-reservation, upstream lets containers run on all CPUs if no CPU is shared',
    explains: ({ sequence, at, upstream, ours }) =>
      sequence.config.cpuManagerPolicyOptions['strict-cpu-reservation'] === 'true' &&
      Object.values(upstream[at]?.affinity ?? {}).includes('') &&
      differsOnlyIn('affinity', upstream[at], ours[at]),
  },
  {
    reason: 'upstream names one of several options whose gate is off, as its order is random',
    explains: ({ at, upstream, ours }) =>
      at === 0 &&
      [upstream[at], ours[at]].every((one) => one?.error?.includes('-level Options not enabled, but option') ?? false),
  },
  {
    reason: 'upstream leaves a node out of its group when a pod with memory of the node is rejected',
    explains: ({ at, upstream, ours }) =>
      upstream[at]?.admit === false &&
      differsOnlyIn('files', upstream[at], ours[at]) &&
      `${groupsIn(upstream[at])}` !== `${groupsIn(ours[at])}`,
  },
];

/** Returns the reason why a difference is intended; `undefined` if the difference is a fault of one of the sides. */
export function purposeOf(situation: Situation): string | undefined {
  return PURPOSES.find(({ explains }) => explains(situation))?.reason;
}

/** Returns the pods that were admitted before a step, each with the spec of its last admission. */
function podsUntil({ steps }: Sequence, at: number): readonly Pod[] {
  const pods = new Map<string, Pod>();
  for (const step of steps.slice(0, at)) if (step.op === 'admit') pods.set(step.pod.metadata.uid, step.pod);
  return [...pods.values()];
}

/** The fields of the CPU manager's state file that this file uses. */
interface CpuFile {
  readonly defaultCpuSet?: string;
  readonly podEntries?: Readonly<Record<string, { readonly cpuSet: string }>>;
}

/**
 * Reports whether a container has a CPU that it must not have: a reserved or shared CPU, a CPU outside of its pod's
 * CPUs, or a CPU of another container that runs at the same time.
 */
function givesTaken(sequence: Sequence, at: number, answer: Answer | undefined): boolean {
  const owners = new Set<number>();
  const allocatable = new Set(answer?.allocatableCPUs);
  const { defaultCpuSet = '', podEntries = {} } = JSON.parse(answer?.files?.cpu_manager_state ?? '{}') as CpuFile;
  for (const cpu of cpusIn(defaultCpuSet)) owners.add(cpu);
  for (const { metadata, spec } of podsUntil(sequence, at)) {
    const { initContainers = [], containers } = spec;
    const ofPod = podEntries[metadata.uid];
    const cpusOf = ({ name }: Container): readonly number[] => answer?.exclusive?.[`${metadata.uid}/${name}`] ?? [];
    const all = [...initContainers, ...containers].flatMap(cpusOf);
    if (all.some((cpu) => !allocatable.has(cpu) || owners.has(cpu))) return true;
    const together = [...initContainers.filter(isRestartableInit), ...containers].flatMap(cpusOf);
    const besideInits = initContainers.some((one, index) => {
      const before = new Set(initContainers.slice(0, index).filter(isRestartableInit).flatMap(cpusOf));
      return cpusOf(one).some((cpu) => before.has(cpu));
    });
    // Containers of a pod with pod-level CPUs may share CPUs.
    if (ofPod === undefined && (besideInits || new Set(together).size < together.length)) return true;
    if (ofPod && all.some((cpu) => !cpusIn(ofPod.cpuSet).includes(cpu))) return true;
    for (const cpu of all) owners.add(cpu);
  }
  return false;
}

/** Returns the CPUs of a list such as `0-3,8`. */
function cpusIn(list: string): readonly number[] {
  if (list === '') return [];
  return list.split(',').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** Returns the group of each NUMA node in the memory manager's state file. */
function groupsIn(answer: Answer | undefined): readonly string[] {
  const text = answer?.files?.memory_manager_state ?? '{}';
  const { machineState = {} } = JSON.parse(text) as {
    readonly machineState?: Readonly<Record<string, { readonly cells: readonly number[] }>>;
  };
  return Object.entries(machineState).map(([node, { cells }]) => `${node}:${cells.join('+')}`);
}

/** Returns whether two answers are equal if one field is left out. */
function differsOnlyIn(field: keyof Answer, upstream: Answer = {}, ours: Answer = {}): boolean {
  return compareAnswers({ ...upstream, [field]: undefined }, { ...ours, [field]: undefined }).length === 0;
}

/**
 * Reports whether both sides reject a pod with several containers because whole cores are missing, and count different
 * numbers of CPUs: upstream has given a part of a core to the first containers.
 */
function splitsCore({ at, upstream, ours }: Situation): boolean {
  const both = [upstream[at], ours[at]];
  return (
    both.every((one) => one?.message?.includes('not enough free physical CPUs: available') ?? false) &&
    differsOnlyIn('message', ...both)
  );
}

/**
 * Reports whether a pod is admitted again, and this side gives no memory to an init container: upstream gives it memory
 * again, or rejects the pod because there is not enough.
 */
function allocatesFreedMemory({ sequence, at, upstream, ours }: Situation): boolean {
  const step = sequence.steps[at - 1];
  if (step?.op !== 'admit' || !isKnown(sequence, at, step.pod)) return false;
  const { metadata, spec } = step.pod;
  const memoryOf = (answer: Answer | undefined, { name }: Container): number =>
    answer?.memory?.[`${metadata.uid}/${name}`]?.length ?? 0;
  const finishing = (spec.initContainers ?? []).filter((one) => !isRestartableInit(one));
  const isRejected = upstream[at]?.message?.includes('[memorymanager]') ?? false;
  return finishing.some((one) => (isRejected || memoryOf(upstream[at], one) > 0) && memoryOf(ours[at], one) === 0);
}

function hasUnequalCores({ topology }: Sequence): boolean {
  const { cores = [], offline = [] } = topologies.find(({ name }) => name === topology) ?? {};
  const sizes = cores.map(({ cpus }) => cpus.filter((cpu) => !offline.includes(cpu)).length);
  return new Set(sizes).size > 1;
}

function missesCores({ sequence, at, upstream }: Situation): boolean {
  const step = sequence.steps[at - 1];
  if (step?.op !== 'admit' || upstream[at]?.reason !== 'SMTAlignmentError') return false;
  if (isKnown(sequence, at, step.pod)) return true;
  const isShort = upstream[at]?.message?.includes('not enough free physical CPUs') ?? false;
  return isShort && (step.pod.spec.initContainers ?? []).length > 0;
}

/** Reports whether the pod of a step had already been admitted at an earlier step. */
function isKnown(sequence: Sequence, at: number, { metadata }: Pod): boolean {
  return podsUntil(sequence, at - 1).some((pod) => pod.metadata.uid === metadata.uid);
}

/** Returns the pod with pod-level resources that a step admits with the gate `PodLevelResourceManagers`. */
function managedPod({ sequence, at }: Situation): Pod | undefined {
  const step = sequence.steps[at - 1];
  if (step?.op !== 'admit' || sequence.config.featureGates.PodLevelResourceManagers !== true) return undefined;
  return hasPodLevelResources(step.pod) ? step.pod : undefined;
}

/** Returns whether two memory blocks are on different sets of NUMA nodes that overlap. */
function groupsOverlap(answer: Answer | undefined): boolean {
  const groups = Object.values(answer?.memory ?? {}).flatMap((blocks) => blocks.map(({ nodes }) => nodes));
  return groups.some((group) =>
    groups.some((other) => `${group}` !== `${other}` && group.some((id) => other.includes(id))),
  );
}

/**
 * Reports whether both sides give each container the same number of CPUs, but possibly other CPUs, with the option
 * `distribute-cpus-across-numa`, on a machine with at least four NUMA nodes.
 */
function distributesOtherwise({ sequence, at, upstream, ours }: Situation): boolean {
  const shape = topologies.find(({ name }) => name === sequence.topology);
  if ((shape?.nodes.length ?? 0) < 4) return false;
  if (sequence.config.cpuManagerPolicyOptions['distribute-cpus-across-numa'] !== 'true') return false;
  const [theirs, own] = [upstream[at]?.exclusive, ours[at]?.exclusive];
  if (theirs === undefined || own === undefined) return false;
  return Object.entries(theirs).every(([container, cpus]) => cpus.length === own[container]?.length);
}
