import type { MachineTopology } from '@node-agent/cm-resources';
import { type AnswerDifference, compareAnswers } from './compare-answers.ts';
import { purposeOf } from './on-purpose.ts';
import { OurNode } from './our-node.ts';
import type { Answer, Sequence, Step } from './sequence.ts';
import type { MachineInfo, Upstream } from './upstream.ts';

/** The machine of a sequence, in the form in which each side reads it from the same `/sys` files. */
export interface Machine {
  readonly upstream: MachineInfo;
  readonly ours: MachineTopology;
}

/** Result of one sequence on both sides. */
export interface SequenceResult {
  readonly upstream: readonly Answer[];
  readonly ours: readonly Answer[];
  /** Step at which the sides differ first: 0 is the start, n the n-th step. */
  readonly difference?: {
    readonly at: number;
    readonly fields: readonly AnswerDifference[];
    /** The reason if the difference is intended; `undefined` if the difference is a fault. */
    readonly purpose: string | undefined;
  };
}

/**
 * Runs a sequence on both sides. When the kubelet restarts, each side reads the state files of the other side.
 * Therefore this repository's side runs twice: its first run supplies the state files for the Go side.
 */
export async function compareSequence(
  upstream: Upstream,
  machine: Machine,
  sequence: Sequence,
): Promise<SequenceResult> {
  const first = await runOurs(machine, sequence);
  const theirs = await upstream.run(machine.upstream, withFilesOf(first, sequence));
  const ours = await runOurs(machine, withFilesOf(theirs, sequence));
  const result = { upstream: theirs, ours };
  for (let at = 0; at < Math.max(theirs.length, ours.length); at++) {
    const fields = compareAnswers(theirs[at] ?? {}, ours[at] ?? {});
    if (fields.length === 0) continue;
    const situation = { sequence, at, upstream: theirs, ours };
    return { ...result, difference: { at, fields, purpose: purposeOf(situation) } };
  }
  return result;
}

async function runOurs({ ours }: Machine, { config, steps }: Sequence): Promise<readonly Answer[]> {
  const node = new OurNode(ours, config);
  const answers = [await node.start()];
  for (const step of steps) {
    if (answers.at(-1)?.error !== undefined) break;
    answers.push(await node.apply(step));
  }
  return answers;
}

/** Returns the sequence with other state files at each restart: those of the other side before the restart. */
function withFilesOf(answers: readonly Answer[], sequence: Sequence): Sequence {
  const steps = sequence.steps.map((step, index): Step => {
    const files = answers[index]?.files;
    return step.op === 'restart' && files !== undefined ? { ...step, files } : step;
  });
  return { ...sequence, steps };
}
