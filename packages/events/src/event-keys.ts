import { createHash } from 'node:crypto';
import type { CoreEvent } from './event.ts';

// Parts are joined with what no name can hold, so that different parts never give one key; an absent one is as an empty one.
const join = (...parts: readonly (string | undefined)[]): string => parts.join('\0');

/** Events of one key are one Event that is counted (`getEventKey` in `tools/record/events_cache.go`). */
export function eventKey(event: CoreEvent): string {
  return join(spamKey(event), event.involvedObject.fieldPath, event.reason, messageKey(event.message));
}

/** Events that share it differ by message only: too many of them become one (`EventAggregatorByReasonFunc`). */
export function aggregateKey(event: CoreEvent): string {
  return join(spamKey(event), event.reason, event.reportingComponent, event.reportingInstance);
}

/** One source telling of one object: what the spam filter counts (`getSpamKey`). */
export function spamKey({ source, involvedObject, type }: CoreEvent): string {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return join(source.component, source.host, kind, namespace, name, uid, apiVersion, type);
}

/** A message that is longer is told apart from others by its hash. */
const MAX_MESSAGE_CHARACTERS = 256;

/** What stands for a message where it is remembered: some have a command of a mebibyte in them, and thousands are remembered. */
export function messageKey(message: string): string {
  if (message.length <= MAX_MESSAGE_CHARACTERS) return message;
  return `\0${message.length} ${createHash('sha256').update(message).digest('base64')}`;
}
