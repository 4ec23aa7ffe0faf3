import { hash } from 'node:crypto';
import type { CoreEvent } from './event.ts';

/**
 * Returns the hash of the parts, because thousands of keys are cached and the parts are several hundred characters. No
 * name contains the separator, so different parts have different texts. An absent part equals an empty one.
 */
const join = (...parts: readonly (string | undefined)[]): string => hash('sha256', parts.join('\0'), 'base64');

/** Returns the key of the events that are counted as one Event (`getEventKey` in `tools/record/events_cache.go`). */
export function eventKey(event: CoreEvent): string {
  return join(spamKey(event), event.involvedObject.fieldPath, event.reason, messageKey(event.message));
}

/**
 * Returns the key of the events that differ only by message, and are aggregated if there are too many
 * (`EventAggregatorByReasonFunc`).
 */
export function aggregateKey(event: CoreEvent): string {
  return join(spamKey(event), event.reason, event.reportingComponent, event.reportingInstance);
}

/** Returns the key of the spam filter: source and object (`getSpamKey`). */
export function spamKey({ source, involvedObject, type }: CoreEvent): string {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return join(source.component, source.host, kind, namespace, name, uid, apiVersion, type);
}

/** The maximum length of a message in a key. A longer message is identified by its hash. */
const MAX_MESSAGE_CHARACTERS = 256;

/** Returns the key of a message. Some messages contain a command of a mebibyte, and thousands of keys are cached. */
export function messageKey(message: string): string {
  if (message.length <= MAX_MESSAGE_CHARACTERS) return message;
  return `\0${message.length} ${hash('sha256', message, 'base64')}`;
}
