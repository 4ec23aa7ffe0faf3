export {
  ApiEventRecorder,
  type ApiEventRecorderComponents,
  type ApiEventRecorderOptions,
} from './api-event-recorder.ts';
export type { CorrelationLimits } from './correlator.ts';
export type { CoreEvent, EventSource } from './event.ts';
export type { EventPatch, EventSink } from './event-sink.ts';
export { type CoreEventsResource, type EventRestClient, restEventSink } from './rest-event-sink.ts';
export { EventSinkError, type EventSinkErrorCode } from './sink-error.ts';
