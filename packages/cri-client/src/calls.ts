import { systemClock } from '@node-agent/async';
import type { CallOptions, Init, StreamRpc, UnaryRpc } from '@node-agent/grpc';
import { noMetrics, noTracer, type Span, silentLogger, type Tracer } from '@node-agent/telemetry';
import { Channel } from './channel.ts';
import type { CriClientComponents, CriClientOptions } from './client-options.ts';
import type { Endpoint } from './endpoint.ts';
import { CriError } from './errors.ts';
import { ListStreams } from './list-streams.ts';
import { CallMetrics, isFailure } from './metrics.ts';
import { beginSpan, failSpan, serverAddress } from './spans.ts';
import { callTimeoutMs, DEFAULT_TIMEOUT_MS } from './timeouts.ts';
import { type TraceContext, traceMetadata } from './trace-context.ts';

/** A list RPC and the streaming RPC that returns the same list in several messages. */
interface ListRpcs<Req, Res, Chunk> {
  readonly plain: UnaryRpc<Req, Res>;
  readonly stream: StreamRpc<Req, Chunk>;
}

/**
 * Makes the calls to a runtime: for each call, sets a deadline, passes a trace, records metrics, and checks the
 * response. Lists use streaming RPCs if the runtime has them.
 */
export class RuntimeCalls {
  /** Default deadline of a call, in milliseconds. Some RPCs have a longer deadline, others have none. */
  readonly timeoutMs: number;
  readonly #channel: Channel;
  readonly #metrics: CallMetrics;
  readonly #traceContext: () => TraceContext | undefined;
  readonly #tracer: Tracer;
  readonly #serverAddress: string;
  readonly #waitForRuntime: NonNullable<CriClientOptions['waitForRuntime']>;
  readonly #lists: ListStreams;

  constructor(endpoint: Endpoint, components: CriClientComponents, options: CriClientOptions) {
    const {
      clock = systemClock,
      logger = silentLogger,
      metrics = noMetrics,
      traceContext,
      tracer = noTracer,
    } = components;
    const { transport = 'grpc-js' } = options;
    const channel = new Channel(endpoint, clock, logger, transport);
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#channel = channel;
    this.#metrics = new CallMetrics(clock, metrics);
    this.#traceContext = traceContext ?? (() => undefined);
    this.#tracer = tracer;
    this.#serverAddress = serverAddress(endpoint.target);
    this.#waitForRuntime = options.waitForRuntime ?? 'first-connection';
    this.#lists = new ListStreams(options.streamLists ?? true, transport === 'lean', () => channel.connections);
  }

  /**
   * Makes a unary call. @param check returns the required field that is missing from the response; `undefined` if none
   * is
   * @throws CriError
   */
  unary<Req, Res>(
    rpc: UnaryRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
    check?: (response: Res) => string | undefined,
  ): Promise<Res> {
    return this.#measured(rpc, request, async (span) => {
      const response = await this.#channel.unary(rpc, request, this.#callOptions(rpc.name, request, span, signal));
      const lack = check?.(response);
      if (lack === undefined) return response;
      throw new CriError({ rpc: rpc.name, code: 'INTERNAL', details: `incomplete response: ${lack}` });
    });
  }

  /** Makes a streaming call. @throws CriError */
  async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Res, void, undefined> {
    const end = this.#metrics.begin(rpc.name, request);
    const span = beginSpan(this.#tracer, rpc.path, this.#serverAddress);
    let failed = false;
    try {
      yield* this.#channel.stream(rpc, request, this.#callOptions(rpc.name, request, span, signal));
    } catch (error) {
      failed = true;
      failSpan(span, error);
      throw error;
    } finally {
      end(failed);
      span.end();
    }
  }

  /** Returns all items of a list. @param expectFew see {@link ListStreams.list}. @throws CriError */
  list<Req, Res, Chunk, Item>(
    { plain, stream }: ListRpcs<Req, Res, Chunk>,
    request: Init<NoInfer<Req>>,
    signal: AbortSignal | undefined,
    itemsOf: (response: Res) => readonly Item[],
    itemsOfChunk: (chunk: Chunk) => readonly Item[],
    expectFew = false,
  ): Promise<Item[]> {
    return this.#measured(plain, request, (span) =>
      this.#lists.list(
        stream.name,
        () => this.#channel.stream(stream, request, this.#callOptions(stream.name, request, span, signal)),
        itemsOfChunk,
        async () =>
          itemsOf(await this.#channel.unary(plain, request, this.#callOptions(plain.name, request, span, signal))),
        expectFew,
      ),
    );
  }

  /** Cancels the calls in progress, waits until they have settled, and closes the connection. */
  close(): Promise<void> {
    return this.#channel.close();
  }

  async #measured<Res>(
    { name, path }: { readonly name: string; readonly path: string },
    request: unknown,
    call: (span: Span) => Promise<Res>,
  ): Promise<Res> {
    const end = this.#metrics.begin(name, request);
    const span = beginSpan(this.#tracer, path, this.#serverAddress);
    let failed = true;
    try {
      const response = await call(span);
      failed = isFailure(name, response);
      return response;
    } catch (error) {
      failSpan(span, error);
      throw error;
    } finally {
      end(failed);
      span.end();
    }
  }

  #callOptions(rpc: string, request: unknown, span: Span, signal: AbortSignal | undefined): CallOptions {
    const isFirst = this.#channel.connections === 0;
    return {
      timeoutMs: callTimeoutMs(rpc, request, this.timeoutMs),
      waitForReady: this.#waitForRuntime === 'always' || (this.#waitForRuntime === 'first-connection' && isFirst),
      metadata: traceMetadata(span.headers ?? this.#traceContext()),
      signal,
    };
  }
}
