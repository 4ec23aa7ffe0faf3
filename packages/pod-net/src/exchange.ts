import { request as httpRequest, type IncomingMessage } from 'node:http';
import { goWords } from './go-words.ts';
import { type HttpGetRequest, hostAndPort } from './http-request.ts';
import { openSocket } from './socket.ts';

/** What came of one request. */
export type Exchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly location: string | undefined;
      /** At most {@link MAX_BODY_BYTES} of it. */
      readonly body: string;
      /** Why the body ended before its end; not where it was cut at the limit. */
      readonly bodyFault?: string;
    }
  | { readonly kind: 'fault'; readonly message: string };

/** So much of a body is read; the rest stays unread (R3). */
const MAX_BODY_BYTES = 10 * 1024;
const MAX_HEADER_BYTES = 1024 * 1024;

/**
 * Sends one GET and reads its answer, over a connection of its own, which is reset when all is read. Lives no longer than `signal`:
 * when that is aborted it settles with a fault, or with a body that is not whole.
 */
export function exchange(request: HttpGetRequest, signal: AbortSignal): Promise<Exchange> {
  return new Promise((resolve) => {
    const { host, port, scheme } = request;
    if (scheme !== 'http' && scheme !== 'https') {
      resolve({ kind: 'fault', message: `unsupported protocol scheme ${JSON.stringify(scheme)}` });
      return;
    }
    let answer: IncomingMessage | undefined;
    const chunks: Buffer[] = [];
    let length = 0;
    const open = openSocket({ host, port, tls: scheme === 'https' });
    const settle = (fault: string | undefined): void => {
      signal.removeEventListener('abort', onAbort);
      open.reset();
      if (answer === undefined) resolve({ kind: 'fault', message: fault ?? 'EOF' });
      else resolve(answered(answer, chunks, fault));
    };
    const onAbort = (): void =>
      settle(
        answer === undefined
          ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
          : 'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
      );
    const onError = (error: Error): void => {
      const words = goWords(error, { host, port, ends: open.ends() });
      settle(answer !== undefined && words === 'EOF' ? 'unexpected EOF' : words);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    open.socket.on('error', onError);
    try {
      const sent = httpRequest({
        method: 'GET',
        path: request.target,
        headers: headersOf(request),
        setHost: false,
        // What a shell script answers, without carriage returns, is an answer: nothing is passed on that could be smuggled.
        insecureHTTPParser: true,
        maxHeaderSize: MAX_HEADER_BYTES,
        createConnection: () => open.stream,
      });
      sent.on('error', onError);
      sent.on('response', (message) => {
        answer = message;
        message.on('data', (chunk: Buffer) => {
          chunks.push(chunk.subarray(0, MAX_BODY_BYTES - length));
          length += chunk.length;
          if (length >= MAX_BODY_BYTES) settle(undefined);
        });
        message.on('end', () => settle(undefined));
        message.on('error', onError);
      });
      // An upgrade is an answer like any other; what comes after it is nobody's.
      sent.on('upgrade', (message) => {
        answer = message;
        settle(undefined);
      });
      sent.end();
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
    }
    if (signal.aborted) onAbort();
  });
}

function answered(message: IncomingMessage, chunks: readonly Buffer[], fault: string | undefined): Exchange {
  return {
    kind: 'answer',
    status: message.statusCode ?? 0,
    location: message.headers.location,
    body: Buffer.concat(chunks).toString(),
    ...(fault !== undefined && { bodyFault: fault }),
  };
}

/** Headers by name, in the bytes that are sent: text is UTF-8. */
function headersOf({ headers, hostHeader, host, port }: HttpGetRequest): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = { Host: wire(hostHeader ?? hostAndPort(host, port)) };
  for (const [name, value] of headers) {
    const before = all[name];
    const next = wire(value);
    all[name] = before === undefined ? next : [...(typeof before === 'string' ? [before] : before), next];
  }
  return all;
}

function wire(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
