import type { Duplex } from 'node:stream';
import type { Clock } from '@node-agent/async';
import { Connection, type ConnectionEvents } from './connection.ts';
import { goQuote } from './go-quote.ts';
import { type BodyLimit, type Exchange, HttpResponseReader } from './http-response.ts';
import type { Http2Exchange } from './http2-exchange.ts';
import { requestHead, type SentRequest } from './request-head.ts';

/** Options for one request and its response. */
export interface ExchangeOptions {
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  /**
   * Deadline for the whole exchange, in ms of the monotonic clock. The exchange enforces the deadline only while it
   * connects. After that, the caller must call `expire` at the deadline.
   */
  readonly deadlineMs: number | undefined;
  /** Whether HTTP/2 is offered to an HTTPS server. */
  readonly http2: boolean;
}

const MAX_PORT = 65_535;

/**
 * Sends one GET request over a new connection and reads the response. The connection is reset as soon as the response
 * has been read.
 */
export class RequestUnderWay implements ConnectionEvents {
  readonly #request: SentRequest;
  readonly #limitOf: BodyLimit;
  readonly #done: (outcome: Exchange) => void;
  readonly #reader: HttpResponseReader;
  #head = '';
  #connection: Connection | undefined;
  #byHttp2: Http2Exchange | undefined;
  #isSettled = false;

  /**
   * @param done called at most once with the outcome. It is not called from within the constructor, nor after `callOff`
   */
  constructor(
    request: SentRequest,
    limitOf: BodyLimit,
    { clock, deadlineMs, http2 }: ExchangeOptions,
    done: (outcome: Exchange) => void,
  ) {
    this.#request = request;
    this.#limitOf = limitOf;
    this.#done = done;
    this.#reader = new HttpResponseReader(limitOf);
    const { host, port, scheme } = request;
    const head = requestHead(request);
    if (scheme !== 'http' && scheme !== 'https') this.#refuse(`unsupported protocol scheme ${goQuote(scheme)}`);
    else if (typeof head !== 'string') this.#refuse(head.fault);
    else if (port > MAX_PORT) this.#refuse(`dial tcp: address ${port}: invalid port`);
    else {
      this.#head = head;
      this.#connection = new Connection({ host, port, deadlineMs, tls: scheme === 'https', http2 }, { clock }, this);
    }
  }

  /** Called by the owner at the deadline. Settles with a fault, or with the part of the body that has arrived. */
  expire(): void {
    if (!this.#isSettled) this.#settle((this.#byHttp2 ?? this.#reader).expire());
  }

  /** Cancels the request and resets its connection, so that `done` is not called any more. */
  callOff(): void {
    this.#isSettled = true;
    this.#connection?.reset();
  }

  onOpen(stream: Duplex, protocol: 'http/1.1' | 'h2'): void {
    if (protocol === 'http/1.1') stream.write(this.#head, 'latin1');
    // Node's HTTP/2 client throws for some requests that Go accepts. Such a request fails here.
    else this.#askByHttp2(stream).catch((error: Error) => this.#fail(`http2: ${error.message}`));
  }

  onBytes(bytes: Buffer): void {
    if (this.#isSettled) return;
    const outcome = this.#reader.push(bytes);
    if (outcome !== undefined) this.#settle(outcome);
  }

  onEnd(words?: string): void {
    if (!this.#isSettled) this.#settle((this.#byHttp2 ?? this.#reader).end(words === 'EOF' ? undefined : words));
  }

  async #askByHttp2(stream: Duplex): Promise<void> {
    const { Http2Exchange } = await import('./http2-exchange.ts');
    if (this.#isSettled) return;
    this.#byHttp2 = new Http2Exchange(this.#request, this.#limitOf, (outcome) => this.#settle(outcome));
    this.#byHttp2.begin(stream);
  }

  #refuse(message: string): void {
    queueMicrotask(() => this.#fail(message));
  }

  #fail(message: string): void {
    this.#settle({ kind: 'fault', message });
  }

  #settle(outcome: Exchange): void {
    if (this.#isSettled) return;
    this.callOff();
    this.#done(outcome);
  }
}
