import type { Client, Metadata } from '@grpc/grpc-js';
import { type Clock, checkComponents, checkOptions, OptionsError, systemClock } from '@node-agent/async';
import { GrpcError } from './errors.ts';
import { followSockets } from './follow-sockets.ts';
import { OpenSockets } from './open-sockets.ts';
import { socketPathProblem } from './socket-path.ts';
import { startUnaryCall } from './unary-call.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** What {@link GrpcClient} works with. */
export interface GrpcClientComponents {
  /** The machine's own by default. */
  readonly clock?: Clock;
  /** Told when there is a connection, and when it is lost. Where absent, nobody watches for that. */
  readonly onConnectivity?: (isConnected: boolean) => void;
}

/** Whom {@link GrpcClient} speaks with: one of `socketPath` and `target`. */
export interface GrpcClientOptions {
  /** The absolute path of a unix socket. */
  readonly socketPath?: string;
  /** Whoever gRPC has by this name: `dns:127.0.0.1:3735`. */
  readonly target?: string;
  /** The largest answer that is taken; 4 MiB by default, as gRPC has it. */
  readonly maxMessageBytes?: number;
}

/** How one call goes. */
export interface CallOptions {
  /** No deadline where absent. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Waits for a connection where there is none, instead of failing with `UNAVAILABLE`. Default: `false`. */
  readonly waitForReady?: boolean;
  /** What goes with the request: texts of printable ASCII, by names in lower case. */
  readonly metadata?: Readonly<Record<string, string>>;
}

type Grpc = typeof import('@grpc/grpc-js');

interface Connection {
  readonly grpc: Grpc;
  readonly client: Client;
  readonly sockets: OpenSockets;
}

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Back-off between two attempts to connect, in milliseconds (`k8s.io/cri-client/pkg/remote_runtime.go`). */
const INITIAL_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 3_000;

/**
 * A client of one peer. Its connection is made at the first call and made again, with back-off, whenever a call needs it. A call is
 * sent at most once. Deadlines run on the clock that was given, so that a jump of the wall clock ends no call; what a peer
 * answers late, or never, is waited for no longer than the deadline and the signal say.
 */
export class GrpcClient {
  readonly #clock: Clock;
  readonly #onConnectivity: GrpcClientComponents['onConnectivity'];
  readonly #target: string;
  readonly #maxMessageBytes: number;
  /** What cancels each call. */
  readonly #underWay = new Set<() => void>();
  /** How many of them somebody waits for. */
  #awaited = 0;
  #connection: Promise<Connection> | undefined;
  #closing: Promise<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  #isConnected = false;

  /** @throws OptionsError naming the option that is wrong */
  constructor(components: GrpcClientComponents, options: GrpcClientOptions) {
    checkOptions('GrpcClient', options, { socketPath: 'string?', target: 'string?', maxMessageBytes: 'limit?' });
    checkComponents('GrpcClient', components, {});
    const { clock = systemClock, onConnectivity } = components;
    const { socketPath, target, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
    const problem = target === undefined ? socketPathProblem(socketPath ?? '') : undefined;
    if (problem !== undefined) throw new OptionsError('GrpcClient', 'socketPath', `socketPath ${problem}`);
    this.#clock = clock;
    this.#onConnectivity = onConnectivity;
    this.#target = target ?? `unix:${socketPath}`;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Resolves once there is a connection. @throws GrpcError `DEADLINE_EXCEEDED`, `CANCELLED` */
  async connect(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { client } = await this.#open(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error ? reject(error) : resolve()));
    // It is settled by the close at the latest, when nobody waits for it any more.
    promise.catch(() => {});
    const ending = this.#ending({ timeoutMs, signal }, () => {
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
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions = {}): Promise<Res> {
    const bytes = encode(rpc, request);
    const { grpc, client } = await this.#open(options.signal);
    const metadata = metadataOf(grpc, options);
    const call = startUnaryCall(client, { path: rpc.path, request: bytes, metadata, decode: rpc.response.decode });
    const ending = this.#ending(options, call.cancel);
    try {
      return await call.answer;
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
    options: CallOptions = {},
  ): AsyncGenerator<Res, void, undefined> {
    const bytes = encode(rpc, request);
    const { grpc, client } = await this.#open(options.signal);
    // Messages are read ahead: they are made when they are taken, or a peer that sends many large ones would hold up everybody.
    const call = client.makeServerStreamRequest(rpc.path, asIs, asIs, bytes, metadataOf(grpc, options));
    // Cancelling a call that nobody iterates any longer emits an error: it has been dealt with.
    call.on('error', () => {});
    const ending = this.#ending(options, () => call.cancel());
    try {
      for await (const message of call as AsyncIterable<Buffer>) {
        using _reader = ending.handOver();
        yield decode(rpc, message);
      }
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
      call.cancel();
    }
  }

  /** Cancels what is under way, and refuses what comes after. */
  close(): void {
    if (this.#closing !== undefined) return;
    const connection = this.#connection;
    const end = async (): Promise<void> => {
      const { client, sockets } = (await connection) ?? {};
      client?.close();
      // What it says at its end is said first.
      await new Promise(setImmediate);
      sockets?.close();
    };
    this.#closing = end().catch(() => {});
    for (const cancel of [...this.#underWay]) cancel();
  }

  /** {@link close}, and waits until whoever waits for something has heard of it; not for the reader of a stream who is busy elsewhere. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    if (this.#awaited > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    await this.#closing;
  }

  async #open(signal: AbortSignal | undefined): Promise<Connection> {
    this.#check(signal);
    this.#connection ??= this.#connect();
    const connection = await this.#connection;
    this.#check(signal);
    return connection;
  }

  #check(signal: AbortSignal | undefined): void {
    if (this.#closing !== undefined) throw closedError();
    if (signal?.aborted) throw abortedError(signal);
  }

  async #connect(): Promise<Connection> {
    // Loaded here, because what imports this package for its types alone should not pay for it.
    const grpc = await import('@grpc/grpc-js');
    const sockets = new OpenSockets();
    const client = new grpc.Client(this.#target, followSockets(grpc.credentials.createInsecure(), sockets), {
      'grpc.default_authority': 'localhost',
      'grpc.max_receive_message_length': this.#maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': INITIAL_BACK_OFF_MS,
      'grpc.max_reconnect_backoff_ms': MAX_BACK_OFF_MS,
      'grpc.enable_retries': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_channelz': 0,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.service_config_disable_resolution': 1,
    });
    const connection = { grpc, client, sockets };
    if (this.#onConnectivity !== undefined) this.#watch(connection, this.#onConnectivity);
    return connection;
  }

  #watch(connection: Connection, onConnectivity: (isConnected: boolean) => void): void {
    const { grpc, client } = connection;
    const channel = client.getChannel();
    const state = channel.getConnectivityState(false);
    const isConnected = state === grpc.connectivityState.READY;
    if (isConnected !== this.#isConnected) {
      this.#isConnected = isConnected;
      onConnectivity(isConnected);
    }
    if (state === grpc.connectivityState.SHUTDOWN) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#watch(connection, onConnectivity));
  }

  /** Ends what is under way at its deadline, when its signal is aborted, and when the client closes; knows afterwards which. */
  #ending(
    { timeoutMs, signal }: CallOptions,
    cancel: () => void,
  ): { explain(error: unknown): GrpcError; release(): void; handOver(): Disposable } {
    let expired = false;
    this.#underWay.add(cancel);
    this.#awaited++;
    const letGo = (): void => {
      this.#awaited--;
      if (this.#awaited === 0) this.#idle?.resolve();
    };
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#clock.setTimer(timeoutMs, () => {
            expired = true;
            cancel();
          });
    signal?.addEventListener('abort', cancel, { once: true });
    return {
      explain: (error) => {
        if (expired)
          return new GrpcError({ code: 'DEADLINE_EXCEEDED', details: 'context deadline exceeded', cause: error });
        if (signal?.aborted) return abortedError(signal);
        return this.#closing === undefined ? GrpcError.from(error) : closedError();
      },
      release: () => {
        timer?.cancel();
        signal?.removeEventListener('abort', cancel);
        this.#underWay.delete(cancel);
        letGo();
      },
      // Until what is given is disposed of, nobody waits for more.
      handOver: () => {
        letGo();
        return { [Symbol.dispose]: () => void this.#awaited++ };
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

function metadataOf(grpc: Grpc, { waitForReady = false, metadata = {} }: CallOptions): Metadata {
  const result = new grpc.Metadata({ waitForReady });
  for (const [key, value] of Object.entries(metadata)) result.set(key, value);
  return result;
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
