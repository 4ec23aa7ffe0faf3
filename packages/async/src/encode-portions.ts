import type { Clock } from './clock.ts';
import { TimeSlice } from './time-slice.ts';

/** Number of UTF-16 code units from which on a portion is complete. */
const PORTION_LENGTH = 64 * 1024;

/**
 * Encodes a long text in UTF-8, in portions of at least 64 Ki characters; only the last portion may be shorter. The text
 * is given in parts, which are made one by one, so that neither the whole text nor its source needs to be in memory.
 * The event loop is served between portions of the work, as with {@link TimeSlice}.
 * @param texts parts of the text, each of which takes much less than 10 ms to make; no part may end within a surrogate
 * pair
 * @throws the signal's reason, and errors of `texts`
 */
export async function* encodePortions(
  texts: Iterable<string>,
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'> },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const slice = new TimeSlice(components);
  let portion = '';
  for (const text of texts) {
    portion += text;
    if (portion.length >= PORTION_LENGTH) {
      yield Buffer.from(portion);
      portion = '';
    }
    if (slice.isDue()) await slice.pause(signal);
  }
  if (portion !== '') yield Buffer.from(portion);
}
