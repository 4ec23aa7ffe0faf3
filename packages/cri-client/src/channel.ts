import type { Client, Metadata } from '@grpc/grpc-js';
import type { Clock } from '@node-agent/async';
import type { Init, StreamRpc, UnaryRpc } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import type { Endpoint } from './endpoint.ts';
import { CriError } from './errors.ts';

/** The largest answer that is accepted, in bytes; gRPC's own default is 4 MiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Back-off between two attempts to connect, in milliseconds (`k8s.io/cri-client/pkg/remote_runtime.go`). */
const INITIAL_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 3_000;

/** How one call goes. */
export interface CallOptions {
  readonly timeoutMs: number | undefined;
  /** Wait for a connection where there is none, instead of failing with `UNAVAILABLE`. */
  readonly waitForReady: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

type Grpc = typeof import('@grpc/grpc-js');

interface Connection {
  readonly grpc: Grpc;
  readonly client: Client;
}

/**
 * One gRPC connection to one endpoint. It is made at the first call and made again, with back-off, whenever a call
 * needs it. A call is sent at most once. Deadlines run on the clock that was given, so that a jump of the wall clock
 * ends no call.
 */
export class Channel {
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #underWay = new Set<{ cancel(): void; readonly ended: Promise<void> }>();
  #connection: Promise<Connection> | undefined;
  #closed = false;
  #connected = false;
  #connections = 0;

  constructor(endpoint: Endpoint, clock: Clock, logger: Logger) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** How many times the runtime was connected to so far: what was learned of it holds for one connection. */
  get connections(): number {
    return this.#connections;
  }

  /** @throws CriError */
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions): Promise<Res> {
    const bytes = encode(rpc, request);
    const { grpc, client } = await this.#connect(rpc.name, options.signal);
    const { promise, resolve, reject } = Promise.withResolvers<Res>();
    const call = client.makeUnaryRequest(
      rpc.path,
      asIs,
      rpc.response.decode,
      bytes,
      metadata(grpc, options),
      (error, value) => (error === null ? resolve(value as Res) : reject(error)),
    );
    const guard = this.#guard(rpc.name, call, options);
    try {
      return await promise;
    } catch (error) {
      throw guard.explain(error);
    } finally {
      guard.release();
    }
  }

  /** The call begins when the first message is asked for and is cancelled when the iteration ends. @throws CriError */
  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    options: CallOptions,
  ): AsyncGenerator<Res, void, undefined> {
    const bytes = encode(rpc, request);
    const { grpc, client } = await this.#connect(rpc.name, options.signal);
    const call = client.makeServerStreamRequest(rpc.path, asIs, rpc.response.decode, bytes, metadata(grpc, options));
    // Cancelling a call that nobody iterates any longer emits an error: it has been dealt with.
    call.on('error', () => {});
    const guard = this.#guard(rpc.name, call, options);
    try {
      yield* call as AsyncIterable<Res>;
    } catch (error) {
      throw guard.explain(error);
    } finally {
      guard.release();
      call.cancel();
    }
  }

  /** Cancels what is under way, waits until it has ended, and refuses what comes after. */
  async close(): Promise<void> {
    this.#closed = true;
    const calls = [...this.#underWay];
    for (const call of calls) call.cancel();
    await Promise.all(calls.map((call) => call.ended));
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) (await connection).client.close();
  }

  async #connect(rpc: string, signal: AbortSignal | undefined): Promise<Connection> {
    if (this.#closed) throw closedError(rpc);
    if (signal?.aborted) throw abortedError(rpc, signal);
    this.#connection ??= this.#open();
    const connection = await this.#connection;
    if (this.#closed) throw closedError(rpc);
    if (signal?.aborted) throw abortedError(rpc, signal);
    return connection;
  }

  async #open(): Promise<Connection> {
    // Loaded here, because what imports this package for its types and enums alone should not pay for it.
    const grpc = await import('@grpc/grpc-js');
    const client = new grpc.Client(this.#endpoint.target, grpc.credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.initial_reconnect_backoff_ms': INITIAL_BACK_OFF_MS,
      'grpc.max_reconnect_backoff_ms': MAX_BACK_OFF_MS,
      'grpc.enable_retries': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
    });
    this.#watch(grpc, client);
    return { grpc, client };
  }

  #watch(grpc: Grpc, client: Client): void {
    const channel = client.getChannel();
    const state = channel.getConnectivityState(false);
    const connected = state === grpc.connectivityState.READY;
    if (connected !== this.#connected) {
      this.#connected = connected;
      if (connected) this.#connections++;
      this.#logger.debug({ endpoint: this.#endpoint.url }, connected ? 'Connected to the runtime' : 'Lost the runtime');
    }
    if (state === grpc.connectivityState.SHUTDOWN) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#watch(grpc, client));
  }

  /** Ends `call` at its deadline, when its signal is aborted, and when the channel closes; knows afterwards which. */
  #guard(
    rpc: string,
    call: { cancel(): void },
    { timeoutMs, signal }: CallOptions,
  ): { explain(error: unknown): CriError; release(): void } {
    let expired = false;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const entry = { cancel: () => call.cancel(), ended };
    this.#underWay.add(entry);
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(timeoutMs, () => {
            expired = true;
            call.cancel();
          });
    signal?.addEventListener('abort', entry.cancel, { once: true });
    return {
      explain: (error) => {
        if (expired) return this.#deadlineError(rpc, error);
        if (signal?.aborted) return abortedError(rpc, signal);
        return this.#closed ? closedError(rpc) : CriError.from(error, rpc);
      },
      release: () => {
        timer?.cancel();
        signal?.removeEventListener('abort', entry.cancel);
        this.#underWay.delete(entry);
        resolve();
      },
    };
  }

  #deadlineError(rpc: string, cause: unknown): CriError {
    const details = this.#connected
      ? 'context deadline exceeded'
      : `context deadline exceeded: no runtime answers at ${this.#endpoint.url}`;
    return new CriError({ rpc, code: 'DEADLINE_EXCEEDED', details, cause });
  }
}

function encode<Req>(
  rpc: { readonly name: string; readonly request: { encode(m: Init<Req>): Buffer } },
  request: Init<Req>,
): Buffer {
  try {
    return rpc.request.encode(request);
  } catch (cause) {
    const details = cause instanceof Error ? cause.message : String(cause);
    throw new CriError({ rpc: rpc.name, code: 'INVALID_ARGUMENT', details, cause });
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function metadata(grpc: Grpc, options: CallOptions): Metadata {
  const result = new grpc.Metadata({ waitForReady: options.waitForReady });
  for (const [key, value] of Object.entries(options.metadata)) result.set(key, value);
  return result;
}

function abortedError(rpc: string, signal: AbortSignal): CriError {
  const reason: unknown = signal.reason;
  const details = reason instanceof Error ? reason.message : 'context canceled';
  return new CriError({ rpc, code: 'CANCELLED', details, cause: reason });
}

function closedError(rpc: string): CriError {
  return new CriError({ rpc, code: 'CANCELLED', details: 'the client is closed' });
}
