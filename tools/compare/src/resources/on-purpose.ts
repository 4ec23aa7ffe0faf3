import { type Container, isRestartableInit, type Pod } from '@node-agent/pod-spec';
import type { Answer, Sequence } from './sequence.ts';
import { topologies } from './topologies.ts';

/** The step at which two sides differ, and all their answers. */
export interface Situation {
  readonly sequence: Sequence;
  /** Index in the answers; the step has the index before. */
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
    // The pod is rejected, so that the CPUs of its first containers are not known.
    reason: UNEQUAL_CORES,
    explains: ({ sequence, at, upstream, ours }) =>
      topologies.some(({ name, offline }) => name === sequence.topology && offline.length > 0) &&
      [upstream, ours].every((side) => side[at]?.message?.includes('not enough cpus available')),
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
];

/** Returns why a difference is intended; `undefined` if it is a fault of one of the sides. */
export function purposeOf(situation: Situation): string | undefined {
  return PURPOSES.find(({ explains }) => explains(situation))?.reason;
}

/** Returns the pods that were admitted until a step, as they were admitted last. */
function podsUntil({ steps }: Sequence, at: number): readonly Pod[] {
  const pods = new Map<string, Pod>();
  for (const step of steps.slice(0, at)) if (step.op === 'admit') pods.set(step.pod.metadata.uid, step.pod);
  return [...pods.values()];
}

/** Returns whether a container has a CPU that is reserved, or that a container has that runs at the same time. */
function givesTaken(sequence: Sequence, at: number, answer: Answer | undefined): boolean {
  const owners = new Set<number>();
  const allocatable = new Set(answer?.allocatableCPUs);
  for (const { metadata, spec } of podsUntil(sequence, at)) {
    const { initContainers = [], containers } = spec;
    const cpusOf = ({ name }: Container): readonly number[] => answer?.exclusive?.[`${metadata.uid}/${name}`] ?? [];
    if ([...initContainers, ...containers].some((one) => cpusOf(one).some((cpu) => !allocatable.has(cpu)))) return true;
    for (const cpu of [...initContainers.filter(isRestartableInit), ...containers].flatMap(cpusOf)) {
      if (owners.has(cpu)) return true;
      owners.add(cpu);
    }
  }
  return false;
}

function missesCores({ sequence, at, upstream }: Situation): boolean {
  const step = sequence.steps[at - 1];
  if (step?.op !== 'admit' || !upstream[at]?.message?.includes('not enough free physical CPUs')) return false;
  const { metadata, spec } = step.pod;
  const isKnown = podsUntil(sequence, at - 1).some((pod) => pod.metadata.uid === metadata.uid);
  return isKnown || (spec.initContainers ?? []).length > 0;
}

/** Returns whether each container has as many CPUs on both sides, with the option, on a machine with enough nodes. */
function distributesOtherwise({ sequence, at, upstream, ours }: Situation): boolean {
  const shape = topologies.find(({ name }) => name === sequence.topology);
  if ((shape?.nodes.length ?? 0) < 4) return false;
  if (sequence.config.cpuManagerPolicyOptions['distribute-cpus-across-numa'] !== 'true') return false;
  const [theirs, own] = [upstream[at]?.exclusive, ours[at]?.exclusive];
  if (theirs === undefined || own === undefined) return false;
  return Object.entries(theirs).every(([container, cpus]) => cpus.length === own[container]?.length);
}
