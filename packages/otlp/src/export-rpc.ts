import type { MessageType, UnaryRpc } from '@node-agent/grpc';
import { Reader } from '@node-agent/grpc/wire';
import { type Batch, encodeBatch } from './encode.ts';

/** Response of a collector. */
export interface ExportResponse {
  /** Number of spans that the collector did not accept. */
  readonly rejectedSpans: number;
  /** Reason for the rejection of spans, or a warning about accepted spans. Empty if there is neither. */
  readonly message: string;
}

const request: MessageType<Batch> = {
  name: 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest',
  encode: (batch) => encodeBatch(batch as Batch),
  decode: () => {
    throw new Error('a client decodes no request');
  },
  create: (batch) => batch as Batch,
};

const response: MessageType<ExportResponse> = {
  name: 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse',
  encode: () => {
    throw new Error('a client encodes no response');
  },
  decode: (bytes) => decodeResponse(new Reader(bytes), bytes.length),
  create: ({ rejectedSpans, message }) => ({ rejectedSpans: rejectedSpans ?? 0, message: message ?? '' }),
};

/** `Export` of the OTLP trace service. */
export const exportRpc: UnaryRpc<Batch, ExportResponse> = {
  name: 'Export',
  path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  stream: false,
  request,
  response,
};

/** Decodes the response; its only field is `ExportTracePartialSuccess`. */
function decodeResponse(r: Reader, end: number): ExportResponse {
  let partial: ExportResponse = { rejectedSpans: 0, message: '' };
  while (r.pos < end) {
    const tag = r.uint32();
    if (tag === 10) partial = decodePartialSuccess(r, r.endOfNext());
    else r.skip(tag);
  }
  return partial;
}

function decodePartialSuccess(r: Reader, end: number): ExportResponse {
  let rejectedSpans = 0;
  let message = '';
  while (r.pos < end) {
    const tag = r.uint32();
    if (tag === 8) rejectedSpans = r.int64();
    else if (tag === 18) message = r.string();
    else r.skip(tag);
  }
  return { rejectedSpans, message };
}
