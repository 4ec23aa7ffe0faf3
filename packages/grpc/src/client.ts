import type { Client } from '@grpc/grpc-js';
import { abortable, type Clock, systemClock } from '@node-agent/async';
import { GrpcError } from './errors.ts';
import { socketPathProblem } from './socket-path.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** What {@link GrpcClient} works with. */
export interface GrpcClientComponents {
  /** The machine's own by default. */
  readonly clock?: Clock;
}

/** Whom {@link GrpcClient} speaks with. */
export interface GrpcClientOptions {
  /** The absolute path of a unix socket. */
  readonly socketPath: string;
  /** The largest answer that is taken; 4 MiB by default, as gRPC has it. */
  readonly maxMessageBytes?: number;
}

/** How one call goes. */
export interface UnaryOptions {
  /** No deadline where absent. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

type Grpc = typeof import('@grpc/grpc-js');

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * A client of one service on one unix socket. A call is sent at most once. Deadlines run on the clock that was given, so that a
 * jump of the wall clock ends no call; what a peer answers late, or never, is waited for no longer than the deadline and the
 * signal say.
 */
export class GrpcClient {
  readonly #clock: Clock;
  readonly #options: GrpcClientOptions;
  readonly #underWay = new Set<() => void>();
  #connection: Promise<{ readonly grpc: Grpc; readonly client: Client }> | undefined;
  #closed = false;

  /** @throws GrpcError `INVALID_ARGUMENT` where the path is none of a socket */
  constructor({ clock = systemClock }: GrpcClientComponents, options: GrpcClientOptions) {
    const problem = socketPathProblem(options.socketPath);
    if (problem !== undefined) throw new GrpcError({ code: 'INVALID_ARGUMENT', details: problem });
    this.#clock = clock;
    this.#options = options;
  }

  /** Resolves once there is a connection. @throws GrpcError `DEADLINE_EXCEEDED`, `CANCELLED` */
  async connect(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { client } = await this.#open();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error ? reject(error) : resolve()));
    // It is settled by the close at the latest, when nobody waits for it any more.
    promise.catch(() => {});
    const ending = this.#ending({ timeoutMs, ...(signal && { signal }) }, () => {
      reject(new Error('the connection is waited for no longer'));
    });
    try {
      await promise;
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
    }
  }

  /** @throws GrpcError */
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: UnaryOptions = {}): Promise<Res> {
    const bytes = encode(rpc, request);
    const { client } = await this.#open(options.signal);
    const { promise, resolve, reject } = Promise.withResolvers<Res>();
    const call = client.makeUnaryRequest(rpc.path, asIs, rpc.response.decode, bytes, (error, value) =>
      error === null ? resolve(value as Res) : reject(error),
    );
    const ending = this.#ending(options, () => call.cancel());
    try {
      return await promise;
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
    }
  }

  /** The call begins when the first message is asked for and is cancelled when the iteration ends. @throws GrpcError */
  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    signal?: AbortSignal,
  ): AsyncGenerator<Res, void, undefined> {
    const bytes = encode(rpc, request);
    const { client } = await this.#open(signal);
    // Messages are read ahead: they are made when they are taken, or a peer that sends many large ones would hold up everybody.
    const call = client.makeServerStreamRequest(rpc.path, asIs, asIs, bytes);
    // Cancelling a call that nobody iterates any longer emits an error: it has been dealt with.
    call.on('error', () => {});
    const ending = this.#ending(signal ? { signal } : {}, () => call.cancel());
    try {
      for await (const message of call as AsyncIterable<Buffer>) yield decode(rpc, message);
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
      call.cancel();
    }
  }

  /** Cancels what is under way, and refuses what comes after. */
  close(): void {
    this.#closed = true;
    for (const cancel of [...this.#underWay]) cancel();
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.then(
      ({ client }) => client.close(),
      () => {},
    );
  }

  async #open(signal?: AbortSignal): Promise<{ readonly grpc: Grpc; readonly client: Client }> {
    if (this.#closed) throw closedError();
    if (signal?.aborted) throw abortedError(signal);
    this.#connection ??= this.#connect();
    const connection = await (signal ? abortable(this.#connection, signal) : this.#connection);
    if (this.#closed) throw closedError();
    return connection;
  }

  async #connect(): Promise<{ readonly grpc: Grpc; readonly client: Client }> {
    // Loaded here, because what imports this package for its types alone should not pay for it.
    const grpc = await import('@grpc/grpc-js');
    const client = new grpc.Client(`unix:${this.#options.socketPath}`, grpc.credentials.createInsecure(), {
      'grpc.default_authority': 'localhost',
      'grpc.max_receive_message_length': this.#options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3_000,
      'grpc.enable_retries': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
    });
    return { grpc, client };
  }

  /** Ends what is under way at its deadline, when its signal is aborted, and when the client closes; knows afterwards which. */
  #ending(
    { timeoutMs, signal }: UnaryOptions,
    cancel: () => void,
  ): { explain(error: unknown): GrpcError; release(): void } {
    let expired = false;
    this.#underWay.add(cancel);
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(timeoutMs, () => {
            expired = true;
            cancel();
          });
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    return {
      explain: (error) => {
        if (expired)
          return new GrpcError({ code: 'DEADLINE_EXCEEDED', details: 'context deadline exceeded', cause: error });
        if (signal?.aborted) return abortedError(signal);
        return this.#closed ? closedError() : GrpcError.from(error);
      },
      release: () => {
        timer?.cancel();
        signal?.removeEventListener('abort', cancel);
        this.#underWay.delete(cancel);
      },
    };
  }
}

function encode<Req>(rpc: { readonly request: { encode(m: Init<Req>): Buffer } }, request: Init<Req>): Buffer {
  try {
    return rpc.request.encode(request);
  } catch (cause) {
    throw new GrpcError({ code: 'INVALID_ARGUMENT', details: GrpcError.from(cause).details, cause });
  }
}

/** What is thrown is what grpc-js has for it. */
function decode<Res>(rpc: { readonly response: { decode(bytes: Uint8Array): Res } }, message: Buffer): Res {
  try {
    return rpc.response.decode(message);
  } catch (cause) {
    const details = `Response message parsing error: ${GrpcError.from(cause).details}`;
    throw new GrpcError({ code: 'INTERNAL', details, cause });
  }
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function abortedError(signal: AbortSignal): GrpcError {
  const reason: unknown = signal.reason;
  return new GrpcError({
    code: 'CANCELLED',
    details: reason instanceof Error ? reason.message : 'context canceled',
    cause: reason,
  });
}

function closedError(): GrpcError {
  return new GrpcError({ code: 'CANCELLED', details: 'grpc: the client connection is closing' });
}
