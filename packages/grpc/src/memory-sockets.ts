import { type Clock, linkAbort, StartOnce, systemClock } from '@node-agent/async';
import type { CallOptions, GrpcClientComponents } from './client.ts';
import { GrpcError } from './errors.ts';
import type { GrpcServerOptions } from './server.ts';
import type { Service } from './service.ts';
import { socketPathProblem } from './socket-path.ts';
import type { GrpcTransport } from './transport.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

interface Listening {
  readonly services: readonly Service[];
  readonly closing: AbortController;
}

type Handler = Service['handlers'][string];

/**
 * In-memory sockets for tests with a fake clock. Clients and servers of one `MemorySockets` connect by path, and no
 * byte leaves the process. Messages are converted as encoding and decoding would. If a server closes, its calls end
 * with `UNAVAILABLE`.
 */
export class MemorySockets implements GrpcTransport {
  readonly #listening = new Map<string, Listening>();
  readonly #onListening = new Set<(socketPath: string) => void>();

  /** Calls `listener` whenever a server starts to listen. @returns a function that removes the listener */
  onListening(listener: (socketPath: string) => void): () => void {
    this.#onListening.add(listener);
    return () => this.#onListening.delete(listener);
  }

  isListening(socketPath: string): boolean {
    return this.#listening.has(socketPath);
  }

  server({ socketPath, services }: GrpcServerOptions): ReturnType<GrpcTransport['server']> {
    const own: Listening = { services, closing: new AbortController() };
    const startOnce = new StartOnce('GrpcServer');
    return {
      start: async () => {
        startOnce.begin();
        const problem = socketPathProblem(socketPath);
        if (problem !== undefined) throw new Error(problem);
        if (own.closing.signal.aborted) throw new Error(`listen ${socketPath}: the server is closed`);
        if (this.#listening.has(socketPath)) throw new Error(`listen ${socketPath}: address already in use`);
        this.#listening.set(socketPath, own);
        for (const listener of [...this.#onListening]) listener(socketPath);
      },
      close: () => {
        if (this.#listening.get(socketPath) === own) this.#listening.delete(socketPath);
        own.closing.abort(new GrpcError({ code: 'UNAVAILABLE', details: 'error reading from server: EOF' }));
      },
    };
  }

  client(
    { clock = systemClock, onConnectivity }: Parameters<GrpcTransport['client']>[0],
    { socketPath }: Parameters<GrpcTransport['client']>[1],
  ): ReturnType<GrpcTransport['client']> {
    const problem = socketPathProblem(socketPath);
    if (problem !== undefined) throw new GrpcError({ code: 'INVALID_ARGUMENT', details: problem });
    const peer = (): Listening | undefined => this.#listening.get(socketPath);
    return new MemoryClient({ clock, onConnectivity }, peer, this, socketPath);
  }
}

class MemoryClient {
  readonly #clock: Clock;
  readonly #peer: () => Listening | undefined;
  readonly #sockets: MemorySockets;
  readonly #socketPath: string;
  readonly #onConnectivity: GrpcClientComponents['onConnectivity'];
  readonly #closing = new AbortController();
  /** The server to which the client is connected. `undefined` while the client is not connected. */
  #connected: Listening | undefined;

  constructor(
    {
      clock,
      onConnectivity,
    }: { readonly clock: Clock; readonly onConnectivity: GrpcClientComponents['onConnectivity'] },
    peer: () => Listening | undefined,
    sockets: MemorySockets,
    socketPath: string,
  ) {
    this.#clock = clock;
    this.#onConnectivity = onConnectivity;
    this.#peer = peer;
    this.#sockets = sockets;
    this.#socketPath = socketPath;
  }

  async connect(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    await this.#until({ timeoutMs, signal }, undefined, async (ending) => {
      if (this.#peer() !== undefined) return;
      await new Promise<void>((resolve) => {
        const stop = this.#sockets.onListening((path) => {
          if (path !== this.#socketPath) return;
          stop();
          resolve();
        });
        ending.addEventListener('abort', stop, { once: true });
      });
    });
    this.#reportConnection();
  }

  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions = {}): Promise<Res> {
    const { handler, closing } = this.#handler(rpc.path);
    const asked = rpc.request.create(request);
    const answer = await this.#until(
      options,
      closing,
      (ending) => handler(asked as never, ending) as Promise<Init<Res>>,
    );
    return rpc.response.create(answer);
  }

  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    { signal }: CallOptions = {},
  ): AsyncGenerator<Res, void, undefined> {
    const { handler, closing } = this.#handler(rpc.path);
    using whole = linkAbort(signal, closing, this.#closing.signal);
    const messages = (handler(rpc.request.create(request) as never, whole.signal) as AsyncIterable<Init<Res>>)[
      Symbol.asyncIterator
    ]();
    try {
      for (;;) {
        const next = await this.#until({ signal }, closing, () => messages.next());
        if (next.done === true) return;
        yield rpc.response.create(next.value);
      }
    } finally {
      whole.abort();
    }
  }

  close(): void {
    this.#closing.abort(new GrpcError({ code: 'CANCELLED', details: 'grpc: the client connection is closing' }));
  }

  #reportConnection(): void {
    const peer = this.#peer();
    if (peer === undefined || peer === this.#connected || this.#onConnectivity === undefined) return;
    this.#connected = peer;
    this.#onConnectivity(true);
    const onEnd = (): void => {
      if (this.#connected !== peer) return;
      this.#connected = undefined;
      this.#onConnectivity?.(false);
    };
    for (const { signal } of [peer.closing, this.#closing]) signal.addEventListener('abort', onEnd, { once: true });
  }

  #handler(path: string): { readonly handler: Handler; readonly closing: AbortSignal } {
    if (this.#closing.signal.aborted) throw GrpcError.from(this.#closing.signal.reason);
    const peer = this.#peer();
    if (peer === undefined) {
      const details = `connection error: dial unix ${this.#socketPath}: connect: no such file or directory`;
      throw new GrpcError({ code: 'UNAVAILABLE', details });
    }
    for (const { rpcs, handlers } of peer.services) {
      const [name] = Object.entries(rpcs).find(([, rpc]) => rpc.path === path) ?? [];
      const handler = name === undefined ? undefined : handlers[name];
      if (handler !== undefined) return { handler, closing: peer.closing.signal };
    }
    throw new GrpcError({ code: 'UNIMPLEMENTED', details: `unknown method ${path}` });
  }

  /** Cancels the work at the deadline, when the caller's signal is aborted, or when either side closes. */
  async #until<T>(
    { timeoutMs, signal }: CallOptions,
    closing: AbortSignal | undefined,
    work: (ending: AbortSignal) => Promise<T>,
  ): Promise<T> {
    using link = linkAbort(signal, closing, this.#closing.signal);
    const expired = new GrpcError({ code: 'DEADLINE_EXCEEDED', details: 'context deadline exceeded' });
    const timer = timeoutMs === undefined ? undefined : this.#clock.setTimer(timeoutMs, () => link.abort(expired));
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(link.signal.reason);
    link.signal.addEventListener('abort', onAbort, { once: true });
    if (link.signal.aborted) onAbort();
    try {
      return await Promise.race([work(link.signal), ended]);
    } catch (error) {
      if (signal?.aborted && error === link.signal.reason) throw cancelled(signal);
      throw GrpcError.from(error);
    } finally {
      timer?.cancel();
      link.signal.removeEventListener('abort', onAbort);
    }
  }
}

function cancelled({ reason }: AbortSignal): GrpcError {
  const details = reason instanceof Error ? reason.message : 'context canceled';
  return new GrpcError({ code: 'CANCELLED', details, cause: reason });
}
