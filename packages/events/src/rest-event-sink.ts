import type { CoreEvent } from './event.ts';
import type { EventSink } from './event-sink.ts';

/** The resource `events` of the core API, in the form of `@node-agent/kube-client`. */
export interface CoreEventsResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** This field is never set, and only ties the type of the object to the value. */
  readonly object?: CoreEvent;
}

/** The methods that {@link restEventSink} uses. A `RestClient` of `@node-agent/kube-client` has these methods. */
export interface EventRestClient {
  create(events: CoreEventsResource, event: CoreEvent, options: object, signal: AbortSignal): Promise<unknown>;
  patch(
    events: CoreEventsResource,
    patch: { readonly type: 'strategic'; readonly body: object },
    key: { readonly namespace: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<unknown>;
}

const events: CoreEventsResource = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };

/**
 * Implements the sink with a client of the API server. Use a client without a rate limit (`events` of `KubeClients`),
 * because the recorder has its own. Errors are passed on unchanged.
 */
export function restEventSink(client: EventRestClient): EventSink {
  return {
    createEvent: (event, signal) => client.create(events, event, {}, signal),
    patchEvent: (namespace, name, body, signal) =>
      client.patch(events, { type: 'strategic', body }, { namespace, name }, signal),
  };
}
