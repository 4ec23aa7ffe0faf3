import { type Clock, TimeSlice } from '@node-agent/async';

/**
 * Reads a body that is made in portions, and joins the portions. The event loop is served in between, because copying
 * more than a hundred megabytes takes long. @throws the signal's reason, and errors of `portions`
 */
export async function joinPortions(
  portions: AsyncIterable<Uint8Array>,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  let length = 0;
  for await (const portion of portions) {
    all.push(portion);
    length += portion.length;
  }
  const joined = Buffer.allocUnsafe(length);
  const slice = new TimeSlice({ clock });
  let at = 0;
  for (const portion of all) {
    joined.set(portion, at);
    at += portion.length;
    if (slice.isDue()) await slice.pause(signal);
  }
  return joined;
}
