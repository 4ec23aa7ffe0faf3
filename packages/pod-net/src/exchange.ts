import type { Duplex } from 'node:stream';
import { Connection, type ConnectionEvents } from './connection.ts';
import type { DialComponents } from './dial.ts';
import { goQuote } from './go-quote.ts';
import { type BodyLimit, type Exchange, HttpResponseReader } from './http-response.ts';
import type { Life } from './life.ts';
import { requestHead, type SentRequest } from './request-head.ts';

/** How one request is sent and its answer read. */
export interface ExchangeOptions {
  readonly clock: DialComponents['clock'];
  /** How long it may take: when that ends it settles with a fault, or with a body that is not whole. */
  readonly life: Life;
  /** Whether a server of HTTPS is offered HTTP/2. */
  readonly http2: boolean;
  readonly limitOf: BodyLimit;
}

const MAX_PORT = 65_535;

/** Sends one GET and reads its answer, over a connection of its own, which is reset when all is read. */
export function exchange(request: SentRequest, options: ExchangeOptions): Promise<Exchange> {
  const { host, port, scheme } = request;
  const { clock, life, http2, limitOf } = options;
  const fault = (message: string): Promise<Exchange> => Promise.resolve({ kind: 'fault', message });
  if (scheme !== 'http' && scheme !== 'https') return fault(`unsupported protocol scheme ${goQuote(scheme)}`);
  const head = requestHead(request);
  if (typeof head !== 'string') return fault(head.fault);
  if (port > MAX_PORT) return fault(`dial tcp: address ${port}: invalid port`);
  return new Promise((resolve) => {
    const reader = new HttpResponseReader(limitOf);
    let isSettled = false;
    const settle = (outcome: Exchange | undefined): void => {
      if (isSettled || outcome === undefined) return;
      isSettled = true;
      life.onEnd = undefined;
      connection.reset();
      resolve(outcome);
    };
    let expired = (): Exchange => reader.expire();
    let ended = (words?: string): Exchange => reader.end(words);
    const target = { host, port, deadlineMs: life.deadlineMs, tls: scheme === 'https', http2 };
    const askByHttp2 = async (stream: Duplex): Promise<void> => {
      const { Http2Exchange } = await import('./http2-exchange.ts');
      if (isSettled) return;
      const asked = new Http2Exchange(request, limitOf, settle);
      expired = () => asked.expire();
      ended = (words) => asked.ended(words);
      asked.begin(stream);
    };
    const events: ConnectionEvents = {
      onOpen(stream, protocol) {
        if (protocol === 'http/1.1') stream.write(head, 'latin1');
        // There may be what Go sends and Node does not.
        else askByHttp2(stream).catch((error: Error) => settle({ kind: 'fault', message: `http2: ${error.message}` }));
      },
      onBytes(bytes) {
        if (!isSettled) settle(reader.push(bytes));
      },
      onEnd(words) {
        if (!isSettled) settle(ended(words === 'EOF' ? undefined : words));
      },
    };
    const connection = new Connection(target, { clock }, events);
    life.onEnd = () => settle(expired());
    if (life.hasEnded) life.onEnd();
  });
}
