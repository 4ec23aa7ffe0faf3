import { type RequestOptions, request } from 'node:https';

/** Response of the API server. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** TLS credentials of a client, in PEM format. */
export interface Caller {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

const TIMEOUT_MS = 10_000;

/** Sends a request over a new connection. @throws Error if there is no response */
export function call(url: string, caller: Caller, method = 'GET', body?: unknown): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const options: RequestOptions = { ...caller, method, headers, agent: false, timeout: TIMEOUT_MS };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, options, (incoming) => {
      let received = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        received += chunk;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text: received }));
      incoming.on('error', reject);
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`${method} ${url}: no response within ${TIMEOUT_MS} ms`)));
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}
