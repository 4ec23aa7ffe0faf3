import { Channel, linkAbort } from '@node-agent/async';
import type { HttpRequest, HttpResponse, HttpTransport } from '../src/index.ts';

/** A response body that a test writes in pieces. */
export class Stream {
  readonly #channel = new Channel<Uint8Array | Error>();
  aborted = false;

  /** Sends bytes. */
  write(text: string | Uint8Array): void {
    this.#channel.push(typeof text === 'string' ? new TextEncoder().encode(text) : text);
  }

  /** Sends one watch event as a line. */
  event(type: string, object: object): void {
    this.write(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string, annotations?: Readonly<Record<string, string>>): void {
    this.event('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion, annotations } });
  }

  initialEventsEnd(resourceVersion: string): void {
    this.bookmark(resourceVersion, { 'k8s.io/initial-events-end': 'true' });
  }

  /** Ends the response without an error. */
  end(): void {
    this.#channel.close();
  }

  /** Ends the response with an error, as a connection reset does. */
  break(code = 'ECONNRESET'): void {
    this.fail(Object.assign(new Error(`read ${code}`), { code }));
  }

  fail(error: Error): void {
    this.#channel.push(error);
  }

  async *body(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    using link = linkAbort(signal);
    link.signal.addEventListener('abort', () => {
      this.aborted = true;
    });
    for (;;) {
      const chunk = await this.#channel.take(link.signal);
      if (link.signal.aborted) throw link.signal.reason;
      if (chunk === undefined) return;
      if (chunk instanceof Error) throw chunk;
      yield chunk;
    }
  }
}

type Answer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
  readonly stream?: Stream;
  readonly fail?: Error;
  readonly hang?: boolean;
};

/** A transport that returns scripted responses, one per request, and records the requests. */
export class ScriptedTransport implements HttpTransport {
  readonly requests: HttpRequest[] = [];
  readonly #answers: Answer[] = [];

  /** Adds the responses of the next requests, in their order. */
  script(...answers: readonly Answer[]): void {
    this.#answers.push(...answers);
  }

  /** The decoded paths of the requests so far, with their queries. */
  get paths(): readonly string[] {
    return this.requests.map(({ path }) => decodeURIComponent(path));
  }

  async request(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    signal?.throwIfAborted();
    this.requests.push(request);
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error(`no answer is scripted for ${request.method} ${request.path}`);
    if (answer.fail !== undefined) throw answer.fail;
    const stream = answer.stream ?? new Stream();
    if (answer.hang) {
      for await (const _ of stream.body(signal)) throw new Error('unreachable');
    }
    if (answer.stream === undefined) {
      stream.write(answer.text ?? JSON.stringify(answer.json ?? {}));
      stream.end();
    }
    return { status: answer.status ?? 200, headers: answer.headers ?? {}, body: stream.body(signal) };
  }
}

/** A system error, as a socket emits it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:6443`), { code });
}

/** A `Status` in the server's format. */
export function failure(code: number, reason: string, more: object = {}): Answer {
  const json = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: `${reason}!`, ...more };
  return { status: code, json };
}
