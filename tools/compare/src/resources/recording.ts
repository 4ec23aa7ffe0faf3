import { digestOf } from './compare-answers.ts';
import type { SequenceResult } from './compare-sequence.ts';

/**
 * For each sequence, by its seed: the digests of upstream's answers up to the first intended difference, joined by
 * spaces.
 */
export type Recording = Readonly<Record<string, string>>;

/** Returns the digests of upstream's answers in a result. @throws Error if the sides differ unexpectedly */
export function digestsOf({ upstream, difference }: SequenceResult): string {
  if (difference !== undefined && difference.purpose === undefined) throw new Error('the sides differ');
  return upstream.slice(0, difference?.at).map(digestOf).join(' ');
}
