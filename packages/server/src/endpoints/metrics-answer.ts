import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { takesGzip } from '../http/accept.ts';
import type { Answer } from '../http/exchange.ts';
import type { Call } from './call.ts';

/** A body in a text format, and which that is. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** Scrapers ask often, and metrics shrink to a tenth. */
export async function metricsAnswer(
  { contentType, text: body }: MetricsText,
  { headers }: Pick<Call, 'headers'>,
): Promise<Answer> {
  const type = { 'Content-Type': contentType, Vary: 'Accept-Encoding' };
  if (!takesGzip(headers['accept-encoding'])) return { status: 200, headers: type, body };
  // No stream: those may take as long as their client likes.
  return { status: 200, headers: { ...type, 'Content-Encoding': 'gzip' }, bytes: await promisify(gzip)(body) };
}
