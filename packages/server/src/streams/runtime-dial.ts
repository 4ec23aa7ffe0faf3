import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as secureConnect } from 'node:tls';
import { abortable, type Clock, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { ServerError } from '../errors.ts';
import { http } from '../http/node-http.ts';
import { readBody } from '../http/read-body.ts';
import { type Reply, text } from '../http/reply.ts';
import { LendingConnection } from './lending-connection.ts';
import type { StreamingEndpoint } from './streaming-url.ts';

/** The response of a runtime's streaming endpoint: an upgraded connection, or a rejection. */
export type Dialled =
  | {
      readonly connection: Duplex;
      /** Lends the connection's buffers. If absent, data must be read by listening for `data`. */
      readonly lender?: LendingConnection | undefined;
      /** The head of the response, in the form in which it is sent to the client. */
      readonly head: string;
      readonly headers: IncomingHttpHeaders;
      /** Data that the runtime has already sent after the head. */
      readonly rest: Buffer;
    }
  | { readonly connection?: undefined; readonly refusal: Reply };

/** How long a runtime may take to respond, in milliseconds. */
const ANSWER_MS = 30_000;
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;

/**
 * Requests a protocol upgrade from a runtime's streaming endpoint, as upstream's `UpgradeAwareHandler` does
 * (`k8s.io/apimachinery/pkg/util/proxy`). Of a rejection, only status and text are passed on. A redirect or any other
 * response is an error.
 * @param headers names and values in turn, for the runtime
 * @throws ServerError `StreamingFailed`; the signal's reason
 */
export async function dialRuntime(
  clock: Pick<Clock, 'setTimer'>,
  endpoint: StreamingEndpoint,
  method: string,
  headers: readonly string[],
  signal: AbortSignal,
): Promise<Dialled> {
  try {
    return await withTimeout(clock, ANSWER_MS, (limited) => dial(endpoint, method, headers, limited), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServerError) throw error;
    throw new ServerError('StreamingFailed', `error dialing backend: ${errorText(error)}`, error);
  }
}

async function dial(
  { secure, host, port, path }: StreamingEndpoint,
  method: string,
  headers: readonly string[],
  signal: AbortSignal,
): Promise<Dialled> {
  const { promise, resolve, reject } = Promise.withResolvers<Dialled>();
  const connecting = { host, port, lookup: loopbackOnly, allowHalfOpen: true, noDelay: true };
  const lender = secure ? undefined : new LendingConnection(connecting);
  const asked = (secure ? secureRequest : http.request)({
    ...{ method, path, headers: [...headers], maxHeaderSize: MAX_HEADER_BYTES },
    // This function replaces an agent, because the connection serves only this request.
    createConnection: () => lender?.socket ?? secureConnect({ ...connecting, servername: 'localhost' }),
  });
  const giveUp = (): void => void asked.destroy();
  signal.addEventListener('abort', giveUp, { once: true });
  asked.on('error', reject);
  asked.on('upgrade', (response, connection, rest) => {
    connection.on('error', () => {});
    if (signal.aborted) connection.destroy();
    else resolve({ connection, lender, head: headOf(response), headers: response.headers, rest });
  });
  asked.on('response', (response) => {
    refusalOf(response)
      .then((refusal) => resolve({ refusal }), reject)
      .finally(() => asked.destroy());
  });
  asked.end();
  try {
    return await abortable(promise, signal);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** @throws ServerError `StreamingFailed` if the response is neither an upgrade nor an error */
async function refusalOf(response: IncomingMessage): Promise<Reply> {
  const status = response.statusCode ?? 0;
  if (status < 400) {
    throw new ServerError('StreamingFailed', `invalid upgrade response: status code ${status}`);
  }
  const body = (await readBody(response, MAX_REFUSAL_BYTES)) ?? Buffer.from('');
  const retryAfter = response.headers['retry-after'];
  return text(status, body.toString(), retryAfter === undefined ? {} : { 'Retry-After': retryAfter });
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage ?? ''}\r\n`;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    head += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  return `${head}\r\n`;
}

/** Resolves `localhost` to loopback addresses, whatever the machine's resolver returns. */
const loopbackOnly: LookupFunction = (_name, options, callback) => {
  if (options.all) {
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]);
  } else callback(null, '127.0.0.1', 4);
};
