import { Writer } from '@node-agent/grpc/wire';
import type { AttributeValue, EndedSpan, SpanContext } from '@node-agent/telemetry';

/** A batch of spans, and the attributes of the program that recorded them. */
export interface Batch {
  readonly resource: Readonly<Record<string, AttributeValue>>;
  /** Name of the program part that recorded the spans. */
  readonly scope: string;
  readonly spans: readonly EndedSpan[];
}

/** Longest text of a name, attribute or error. Longer texts, such as an error of a runtime, are cut. */
const MAX_TEXT = 2_048;

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Flag of W3C Trace Context. */
const SAMPLED = 1;

/** Returns the tag of a field. @param wireType 0: varint, 1: 8 bytes, 2: with a length, 5: 4 bytes */
const tag = (field: number, wireType: 0 | 1 | 2 | 5): number => (field << 3) | wireType;

/**
 * Encodes an `ExportTraceServiceRequest` (opentelemetry/proto/collector/trace/v1/trace_service.proto and
 * opentelemetry/proto/trace/v1/trace.proto, OTLP 1.9).
 */
export function encodeBatch({ resource, scope, spans }: Batch): Buffer {
  const w = new Writer();
  within(w, 1, () => {
    within(w, 1, () => putAttributes(w, 1, resource));
    within(w, 2, () => {
      within(w, 1, () => putText(w, 1, scope));
      for (const span of spans) within(w, 2, () => putSpan(w, span));
    });
  });
  return w.finish();
}

function putSpan(w: Writer, span: EndedSpan): void {
  const { context, parentSpanId, name, kind, startMs, endMs, attributes, error, link } = span;
  putIds(w, context, 1, 2);
  if (context.tracestate !== undefined) putText(w, 3, context.tracestate);
  if (parentSpanId !== undefined) w.uint32(tag(4, 2)).bytes(Buffer.from(parentSpanId, 'hex'));
  putText(w, 5, name);
  w.uint32(tag(6, 0)).uint32(KINDS[kind]);
  putTime(w, 7, startMs);
  putTime(w, 8, endMs);
  putAttributes(w, 9, attributes);
  if (error !== undefined && kind === 'internal') {
    within(w, 11, () => {
      putTime(w, 1, endMs);
      putText(w, 2, 'exception');
      putAttributes(w, 3, { 'exception.message': error });
    });
  }
  if (link !== undefined) within(w, 13, () => putIds(w, link, 1, 2));
  if (error !== undefined) {
    within(w, 15, () => {
      putText(w, 2, error);
      w.uint32(tag(3, 0)).uint32(STATUS_ERROR);
    });
  }
  w.uint32(tag(16, 5)).fixed32(SAMPLED);
}

function putIds(w: Writer, { traceId, spanId }: SpanContext, traceField: number, spanField: number): void {
  w.uint32(tag(traceField, 2)).bytes(Buffer.from(traceId, 'hex'));
  w.uint32(tag(spanField, 2)).bytes(Buffer.from(spanId, 'hex'));
}

function putAttributes(w: Writer, field: number, attributes: Readonly<Record<string, AttributeValue>>): void {
  for (const [key, value] of Object.entries(attributes)) {
    within(w, field, () => {
      putText(w, 1, key);
      within(w, 2, () => putValue(w, value));
    });
  }
}

function putValue(w: Writer, value: AttributeValue): void {
  if (typeof value === 'string') putText(w, 1, value);
  else if (typeof value === 'boolean') w.uint32(tag(2, 0)).uint32(value ? 1 : 0);
  else if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) w.uint32(tag(3, 0)).int32(value);
  else w.uint32(tag(4, 1)).double(value);
}

function putText(w: Writer, field: number, text: string): void {
  const shown = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
  w.uint32(tag(field, 2)).string(shown.toWellFormed());
}

/** Writes a time in nanoseconds since 1970. The clock counts microseconds. */
function putTime(w: Writer, field: number, ms: number): void {
  const nanoseconds = BigInt(Math.max(0, Math.round(ms * 1_000))) * 1_000n;
  w.uint32(tag(field, 1)).fixed64(Number(nanoseconds & 0xffff_ffffn), Number(nanoseconds >> 32n));
}

function within(w: Writer, field: number, put: () => void): void {
  const start = w.uint32(tag(field, 2)).fork();
  put();
  w.join(start);
}
