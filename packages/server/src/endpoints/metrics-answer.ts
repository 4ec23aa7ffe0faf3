import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { takesGzip } from '../http/accept.ts';
import type { Answer } from '../http/exchange.ts';
import type { Call } from './call.ts';

/** A body in a text format, with its content type. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** Compresses metrics if the client accepts gzip: scrapes are frequent, and compression reduces metrics to a tenth. */
export async function metricsAnswer(
  { contentType, text: body }: MetricsText,
  { headers }: Pick<Call, 'headers'>,
): Promise<Answer> {
  const type = { 'Content-Type': contentType, Vary: 'Accept-Encoding' };
  if (!takesGzip(headers['accept-encoding'])) return { status: 200, headers: type, body };
  // The body is sent as bytes, because streams are exempt from the answer timeout.
  return { status: 200, headers: { ...type, 'Content-Encoding': 'gzip' }, bytes: await promisify(gzip)(body) };
}
