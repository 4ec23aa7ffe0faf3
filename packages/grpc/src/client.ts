import type { Client, Metadata } from '@grpc/grpc-js';
import { type Clock, checkComponents, checkOptions, OptionsError, systemClock } from '@node-agent/async';
import { GrpcError } from './errors.ts';
import { followSockets } from './follow-sockets.ts';
import { LeanCalls } from './lean/lean-calls.ts';
import { OpenSockets } from './open-sockets.ts';
import { socketPathProblem } from './socket-path.ts';
import { startUnaryCall, type UnaryCall } from './unary-call.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/** The components of {@link GrpcClient}. */
export interface GrpcClientComponents {
  /** The clock of deadlines and back-off. Default: the system clock. */
  readonly clock?: Clock;
  /** Called when the connection is established and when it is lost. If absent, the connection is not watched. */
  readonly onConnectivity?: (isConnected: boolean) => void;
  /**
   * Called when the client stops using the transport `lean`, because the peer violated HTTP/2 or compressed a message.
   * All later calls use grpc-js.
   */
  readonly onFallback?: (reason: Error) => void;
}

/** The peer of a {@link GrpcClient}: either `socketPath` or `target`. */
export interface GrpcClientOptions {
  /** The absolute path of a unix socket. */
  readonly socketPath?: string;
  /** A gRPC target name, such as `dns:127.0.0.1:3735`. */
  readonly target?: string;
  /** The size limit of a response, in bytes. Default: 4 MiB, gRPC's default. */
  readonly maxMessageBytes?: number;
  /**
   * The transport of unary calls. `lean` is this package's own HTTP/2 client for unix sockets, which takes a fraction
   * of the CPU time of grpc-js. Streams, and all calls to a `target` other than `unix:/path`, use grpc-js. Default:
   * `grpc-js`.
   */
  readonly unaryTransport?: 'grpc-js' | 'lean';
}

/** The options of one call. */
export interface CallOptions {
  /** How long the call may take, in milliseconds. Default: no deadline. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether to wait for a connection instead of failing with `UNAVAILABLE`. Default: `false`. */
  readonly waitForReady?: boolean;
  /** The metadata of the request: values of printable ASCII by names in lower case. */
  readonly metadata?: Readonly<Record<string, string>>;
}

type Grpc = typeof import('./grpc-js.ts');

interface Connection {
  readonly grpc: Grpc;
  readonly client: Client;
  readonly sockets: OpenSockets;
}

const DEFAULT_MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * The limits of the back-off between connection attempts, in milliseconds (`k8s.io/cri-client/pkg/remote_runtime.go`).
 */
const INITIAL_BACK_OFF_MS = 100;
const MAX_BACK_OFF_MS = 3_000;

/**
 * A client of one peer. The first call opens the connection. If the connection is lost, a later call reopens it, with
 * back-off. A call is sent at most once. Deadlines run on the injected clock, so that a jump of the wall clock ends no
 * call. A call never outlasts its deadline and signal, even if the peer does not respond.
 */
export class GrpcClient {
  readonly #clock: Clock;
  readonly #onConnectivity: GrpcClientComponents['onConnectivity'];
  readonly #target: string;
  readonly #maxMessageBytes: number;
  /** Functions that cancel the calls in progress, one per call. */
  readonly #underWay = new Set<() => void>();
  /** The number of calls in progress whose callers currently wait for a result. */
  #awaited = 0;
  #connection: Promise<Connection> | undefined;
  #closing: Promise<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  /** The transport `lean`. `undefined` if grpc-js makes the unary calls. */
  #lean: LeanCalls | undefined;
  /** Closes the connections of the transport `lean`. */
  #closeLean = (): void => {};
  readonly #connected = { grpcJs: false, lean: false };
  #isConnected = false;

  /** @throws OptionsError naming the invalid option */
  constructor(components: GrpcClientComponents, options: GrpcClientOptions) {
    checkOptions('GrpcClient', options, {
      socketPath: 'string?',
      target: 'string?',
      maxMessageBytes: 'limit?',
      unaryTransport: [undefined, 'grpc-js', 'lean'],
    });
    checkComponents('GrpcClient', components, {});
    const { clock = systemClock, onConnectivity, onFallback } = components;
    const { socketPath, target, maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES } = options;
    const problem = target === undefined ? socketPathProblem(socketPath ?? '') : undefined;
    if (problem !== undefined) throw new OptionsError('GrpcClient', 'socketPath', `socketPath ${problem}`);
    this.#clock = clock;
    this.#onConnectivity = onConnectivity;
    this.#target = target ?? `unix:${socketPath}`;
    this.#maxMessageBytes = maxMessageBytes;
    const leanPath = options.unaryTransport === 'lean' ? unixPath(this.#target) : undefined;
    if (leanPath === undefined) return;
    const onLean = (isConnected: boolean): void => {
      this.#connected.lean = isConnected;
      this.#reportConnectivity();
    };
    const giveUp = (reason: Error): void => {
      if (this.#lean === undefined) return;
      this.#lean = undefined;
      onFallback?.(reason);
      this.#reportConnectivity();
    };
    const backOff = { initialMs: INITIAL_BACK_OFF_MS, maxMs: MAX_BACK_OFF_MS };
    const leanCalls = new LeanCalls(
      { clock, onConnectivity: onLean, onUnexpected: giveUp },
      { socketPath: leanPath, maxMessageBytes, backOff },
    );
    this.#lean = leanCalls;
    this.#closeLean = () => leanCalls.close();
  }

  /** Resolves once the connection of grpc-js is established. @throws GrpcError `DEADLINE_EXCEEDED`, `CANCELLED` */
  async connect(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const { client } = await this.#open(signal);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.waitForReady(Number.POSITIVE_INFINITY, (error) => (error ? reject(error) : resolve()));
    // The promise may be rejected by the closing of the client after the caller has left; then nobody handles the
    // rejection.
    promise.catch(() => {});
    const ending = this.#ending({ timeoutMs, signal }, () => {
      reject(new Error('the wait for the connection has ended'));
    });
    try {
      await promise;
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
    }
  }

  /** Makes a call with a single response. @throws GrpcError */
  async unary<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, options: CallOptions = {}): Promise<Res> {
    const bytes = encode(rpc, request);
    // There is no `await` between the start of the call and `#ending`. Otherwise the signal could be aborted unnoticed
    // in between.
    const call =
      this.#lean === undefined
        ? this.#startUnary(await this.#open(options.signal), rpc, bytes, options)
        : this.#startLean(this.#lean, rpc, bytes, options);
    const ending = this.#ending(options, call.cancel);
    try {
      return await call.answer;
    } catch (error) {
      throw ending.explain(error);
    } finally {
      ending.release();
    }
  }

  /**
   * Makes a call with a streamed response. The call starts when the first message is read, and is cancelled when the
   * iteration ends. @throws GrpcError
   */
  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    options: CallOptions = {},
  ): AsyncGenerator<Res, void, undefined> {
    const bytes = encode(rpc, request);
    const { grpc, client } = await this.#open(options.signal);
    // grpc-js receives messages ahead of the reader. A message is decoded only when it is read, so that a peer that
    // sends many large messages does not block other work.
    const call = client.makeServerStreamRequest(rpc.path, asIs, asIs, bytes, metadataOf(grpc, options));
    // Cancelling a call that is no longer iterated emits an error, which has no listener otherwise.
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

  /** Cancels the calls in progress. Calls after that fail. */
  close(): void {
    if (this.#closing !== undefined) return;
    const connection = this.#connection;
    const end = async (): Promise<void> => {
      const { client, sockets } = (await connection) ?? {};
      client?.close();
      // grpc-js needs another turn of the event loop to send its last frames.
      await new Promise(setImmediate);
      sockets?.close();
    };
    this.#closing = end().catch(() => {});
    for (const cancel of [...this.#underWay]) cancel();
    this.#closeLean();
  }

  /**
   * Calls {@link close} and waits until all waiting callers have been notified. Readers of streams that are busy with a
   * message are not waited for.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    if (this.#awaited > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    await this.#closing;
  }

  #startUnary<Req, Res>(
    { grpc, client }: Connection,
    { path, response }: UnaryRpc<Req, Res>,
    request: Buffer,
    options: CallOptions,
  ): UnaryCall<Res> {
    return startUnaryCall(client, { path, request, metadata: metadataOf(grpc, options), decode: response.decode });
  }

  #startLean<Req, Res>(
    lean: LeanCalls,
    { path, response }: UnaryRpc<Req, Res>,
    request: Buffer,
    { metadata = {}, timeoutMs, waitForReady = false, signal }: CallOptions,
  ): UnaryCall<Res> {
    this.#check(signal);
    return lean.start({ path, request, decode: response.decode, metadata, timeoutMs, waitForReady });
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
    // grpc-js is loaded on demand, so that packages that import only types do not load it.
    const grpc = await import('./grpc-js.ts');
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
    if (this.#onConnectivity !== undefined) this.#watch(connection);
    return connection;
  }

  #watch(connection: Connection): void {
    const { grpc, client } = connection;
    const channel = client.getChannel();
    const state = channel.getConnectivityState(false);
    this.#connected.grpcJs = state === grpc.connectivityState.READY;
    this.#reportConnectivity();
    if (state === grpc.connectivityState.SHUTDOWN) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#watch(connection));
  }

  /** Reports whether unary calls have a connection, if that has changed. */
  #reportConnectivity(): void {
    const isConnected = this.#lean === undefined ? this.#connected.grpcJs : this.#connected.lean;
    if (isConnected === this.#isConnected) return;
    this.#isConnected = isConnected;
    this.#onConnectivity?.(isConnected);
  }

  /**
   * Cancels a call at its deadline, when its signal is aborted, or when the client closes. The result explains an error
   * of the call by the cause of the cancellation.
   */
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
      // Marks the caller as busy with a message until the returned value is disposed. A busy caller does not wait for
      // the call.
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

/** Decodes a response. A decoding error becomes the same gRPC status as in grpc-js. */
function decode<Res>(rpc: { readonly response: { decode(bytes: Uint8Array): Res } }, message: Buffer): Res {
  try {
    return rpc.response.decode(message);
  } catch (cause) {
    const details = `Response message parsing error: ${GrpcError.from(cause).details}`;
    throw new GrpcError({ code: 'INTERNAL', details, cause });
  }
}

/** Returns the path in a target `unix:/path`, or `undefined` for other targets. */
function unixPath(target: string): string | undefined {
  return /^unix:(?:\/\/)?(\/.+)$/.exec(target)?.[1];
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
