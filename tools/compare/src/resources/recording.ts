import { digestOf } from './compare-answers.ts';
import type { SequenceResult } from './compare-sequence.ts';

/** Digests of upstream's answers, joined by spaces, up to the first intended difference, by the seed of the sequence. */
export type Recording = Readonly<Record<string, string>>;

/** Returns the digests of a result. @throws Error if the sides differ unexpectedly */
export function digestsOf({ upstream, difference }: SequenceResult): string {
  if (difference !== undefined && difference.purpose === undefined) throw new Error('the sides differ');
  return upstream.slice(0, difference?.at).map(digestOf).join(' ');
}
