import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Clock, encodePortions } from '@node-agent/async';
import { takesGzip } from '../http/accept.ts';
import type { BytesReply, Reply } from '../http/reply.ts';
import type { Call } from './call.ts';
import { joinPortions } from './join-portions.ts';

/**
 * A text that may be long: a string, or the text in UTF-8 in portions. Portions need less memory, and the event loop is
 * served between them.
 */
export type PageText = string | AsyncIterable<Uint8Array>;

/** A body in a text format, with its content type. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: PageText;
}

type SliceClock = Pick<Clock, 'monotonic' | 'setTimer'>;

/** Length of the pieces of a string that are encoded at a time, in UTF-16 code units. */
const PIECE_LENGTH = 64 * 1024;

/** Compresses metrics if the client accepts gzip: scrapes are frequent, and compression reduces metrics to a tenth. */
export async function metricsAnswer(
  metrics: MetricsText,
  { headers, signal }: Pick<Call, 'headers' | 'signal'>,
  clock: SliceClock,
): Promise<Reply | BytesReply> {
  const vary = { Vary: 'Accept-Encoding' };
  if (!takesGzip(headers['accept-encoding'])) {
    const plain = await plainReply(metrics, clock, signal);
    return { ...plain, headers: { ...plain.headers, ...vary } };
  }
  const { contentType, text } = metrics;
  const portions = typeof text === 'string' ? encodePortions(piecesOf(text), { clock }, signal) : text;
  // The body is sent as bytes, because streams are exempt from the answer timeout.
  return {
    status: 200,
    headers: { 'Content-Type': contentType, ...vary, 'Content-Encoding': 'gzip' },
    bytes: await compressed(portions, signal),
  };
}

/** Creates a reply with a text that is not compressed. */
export async function plainReply(
  { contentType, text }: MetricsText,
  clock: SliceClock,
  signal: AbortSignal,
): Promise<Reply | BytesReply> {
  const head = { status: 200, headers: { 'Content-Type': contentType } };
  if (typeof text === 'string') return { ...head, body: text };
  return { ...head, bytes: await joinPortions(text, clock, signal) };
}

/** Compresses portions as they are made, so that the whole text is never in memory. */
async function compressed(portions: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const collect = async (zipped: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of zipped) chunks.push(chunk);
  };
  await pipeline(portions, createGzip(), collect, { signal });
  return Buffer.concat(chunks);
}

/** Divides a string into pieces, none of which ends within a surrogate pair. */
function* piecesOf(text: string): Generator<string, void, undefined> {
  for (let from = 0; from < text.length; ) {
    const end = from + PIECE_LENGTH;
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
    yield text.slice(from, to);
    from = to;
  }
}

function isHighSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdbff;
}
