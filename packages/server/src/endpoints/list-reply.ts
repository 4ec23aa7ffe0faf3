import { type Clock, encodePortions, Semaphore } from '@node-agent/async';
import type { BytesReply } from '../http/reply.ts';
import { joinPortions } from './join-portions.ts';

/** A list of the API, such as a v1 PodList. The items may be made while they are read. */
export interface ApiList {
  readonly kind: string;
  readonly apiVersion: 'v1';
  readonly metadata: object;
  readonly items: Iterable<object>;
}

/**
 * Number of lists that are encoded at the same time. Without a limit, all lists of many concurrent requests are in memory
 * until all are encoded, because their loops take turns.
 */
const LISTS_AT_ONCE = 2;

/** All servers of a process share the limit, as they share the clock and the event loop. */
const encoders = new WeakMap<Pick<Clock, 'monotonic' | 'setTimer'>, Semaphore>();

/**
 * Encodes a list as JSON with a trailing newline, as upstream's encoder writes it. The list of a node with many pods has
 * several megabytes, so the event loop is served between portions of the list, and further lists wait in the order of
 * their requests. @throws the signal's reason
 */
export async function listReply(
  list: ApiList,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
  signal: AbortSignal,
): Promise<BytesReply> {
  const encoder = encoders.get(clock) ?? new Semaphore(LISTS_AT_ONCE);
  encoders.set(clock, encoder);
  const encode = () => joinPortions(encodePortions(jsonParts(list), { clock }, signal), clock, signal);
  const bytes = await encoder.run(encode, signal);
  return { status: 200, headers: { 'Content-Type': 'application/json' }, bytes };
}

/** Returns the JSON of a list in parts, one for each item. */
function* jsonParts({ items, ...head }: ApiList): Generator<string, void, undefined> {
  let before = JSON.stringify({ ...head, items: [] }).slice(0, -']}'.length);
  let end = `${before}]}\n`;
  for (const item of items) {
    yield before + JSON.stringify(item);
    before = ',';
    end = ']}\n';
  }
  yield end;
}
