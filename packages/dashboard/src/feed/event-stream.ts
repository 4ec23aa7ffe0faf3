import { abortable, type Clock } from '@node-agent/async';
import type { FeedReader } from './node-feed.ts';
import { formatPosition, type Position, serverSentEvent } from './sse.ts';

/** Request of one open page. */
interface Wanted {
  /** Position of the last event that the page received. */
  readonly after: Position | undefined;
  /** Pod whose timeline is shown. */
  readonly pod: { readonly namespace: string; readonly name: string } | undefined;
}

/**
 * Yields the events for one page, without an end. The next event is created only when the client has received the
 * previous events, and shows the state at that time. A slow client gets fewer and larger changes, and nothing is queued
 * for it.
 */
export async function* eventStream(
  reader: FeedReader,
  { after, pod }: Wanted,
  { clock, beatMs }: { readonly clock: Clock; readonly beatMs: number },
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let version = after?.epoch === reader.epoch ? after.version : undefined;
  const sent = { usage: undefined as unknown, facts: undefined as unknown, story: '' };
  let lastMs = clock.monotonic();
  while (!signal.aborted) {
    // The promise is created before the state is read, so that no change is missed while the client receives an event.
    const changed = reader.changed();
    let hasSent = false;
    const pods = reader.pods();
    if (pods !== undefined && pods.version !== version) {
      const { version: newest, ...news } = pods.since(version);
      version = newest;
      hasSent = true;
      yield serverSentEvent('pods', news, formatPosition({ epoch: reader.epoch, version }));
    }
    const facts = reader.facts();
    if (facts !== undefined && facts !== sent.facts) {
      sent.facts = facts;
      hasSent = true;
      yield serverSentEvent('node', facts);
    }
    const usage = reader.usage();
    if (usage !== undefined && usage !== sent.usage) {
      sent.usage = usage;
      hasSent = true;
      yield serverSentEvent('usage', usage);
    }
    if (pod !== undefined) {
      const story = reader.story(pod.namespace, pod.name);
      const text = JSON.stringify(story);
      if (text !== sent.story) {
        sent.story = text;
        hasSent = true;
        yield serverSentEvent('story', story);
      }
    }
    if (!hasSent && clock.monotonic() - lastMs >= beatMs) {
      hasSent = true;
      yield serverSentEvent('beat', { nowMs: clock.now() });
    }
    if (hasSent) lastMs = clock.monotonic();
    await abortable(changed, signal).catch(() => {});
  }
}
