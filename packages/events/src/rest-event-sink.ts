import type { CoreEvent } from './event.ts';
import type { EventSink } from './event-sink.ts';

/** The resource `events` of the core API, as `@node-agent/kube-client` names resources. */
export interface CoreEventsResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Not there at run time: ties the type of the object to the value. */
  readonly object?: CoreEvent;
}

/** The requests that {@link restEventSink} makes: a `RestClient` of `@node-agent/kube-client` has them. */
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
 * Events through a client of the API server: give it one of its own without a rate limit (`events` of `KubeClients`), for the
 * recorder has one. Its errors are passed on as they are.
 */
export function restEventSink(client: EventRestClient): EventSink {
  return {
    createEvent: (event, signal) => client.create(events, event, {}, signal),
    patchEvent: (namespace, name, body, signal) =>
      client.patch(events, { type: 'strategic', body }, { namespace, name }, signal),
  };
}
