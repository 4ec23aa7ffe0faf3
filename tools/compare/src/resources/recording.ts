import { digestOf } from './compare-answers.ts';
import type { SequenceResult } from './compare-sequence.ts';

/** Digests of upstream's answers to the sequence of a seed, up to the first intended difference. */
export type Recording = readonly (readonly [seed: number, digests: readonly string[]])[];

/** Returns the digests of a result. @throws Error if the sides differ unexpectedly */
export function digestsOf({ upstream, difference }: SequenceResult): readonly string[] {
  if (difference !== undefined && difference.purpose === undefined) throw new Error('the sides differ');
  return upstream.slice(0, difference?.at).map(digestOf);
}

/** Returns the text of a recording: one sequence per line. */
export function recordingText(recording: Recording): string {
  return `[\n${recording.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]\n`;
}
