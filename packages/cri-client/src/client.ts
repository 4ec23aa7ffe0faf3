import { systemClock } from '@node-agent/async';
import { noMetrics, silentLogger } from '@node-agent/telemetry';
import { type CallOptions, Channel } from './channel.ts';
import type { CriClientComponents, CriClientOptions } from './client-options.ts';
import { type Endpoint, parseEndpoint } from './endpoint.ts';
import { CriError } from './errors.ts';
import { imageServiceRpcs, RpcMethods, runtimeServiceRpcs } from './generated/services.ts';
import type * as T from './generated/types.ts';
import { isOfOnePod, ListStreams } from './list-streams.ts';
import { CallMetrics } from './metrics.ts';
import * as checks from './response-checks.ts';
import { callTimeoutMs, DEFAULT_TIMEOUT_MS } from './timeouts.ts';
import { type TraceContext, traceMetadata } from './trace-context.ts';
import { unsupportedRuntime, versionV1alpha2 } from './version.ts';
import type { Init, StreamRpc, UnaryRpc } from './wire.ts';

/**
 * A container runtime (`RuntimeService` and `ImageService` of CRI v1) over gRPC: one method per RPC. Construction does no
 * I/O; the connection is made at the first call and made again whenever it is lost. Every method throws
 * {@link CriError}: for what the runtime answered, for a deadline (`DEADLINE_EXCEEDED`), for an aborted signal
 * (`CANCELLED`, its cause is the signal's reason), and for an answer that lacks what it must have (`INTERNAL`).
 */
export class CriClient extends RpcMethods {
  readonly #endpoint: Endpoint;
  readonly #channel: Channel;
  readonly #metrics: CallMetrics;
  readonly #traceContext: () => TraceContext | undefined;
  readonly #timeoutMs: number;
  readonly #waitForRuntime: NonNullable<CriClientOptions['waitForRuntime']>;
  readonly #lists: ListStreams;

  /** @throws CriError `INVALID_ARGUMENT` for an endpoint that is none */
  constructor(components: CriClientComponents, options: CriClientOptions) {
    super();
    const { clock = systemClock, logger = silentLogger, metrics = noMetrics, traceContext } = components;
    const channel = new Channel(parseEndpoint(options.endpoint), clock, logger);
    this.#endpoint = parseEndpoint(options.endpoint);
    if (this.#endpoint.warning !== undefined) logger.warn({ endpoint: options.endpoint }, this.#endpoint.warning);
    this.#channel = channel;
    this.#metrics = new CallMetrics(clock, metrics);
    this.#traceContext = traceContext ?? (() => undefined);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#waitForRuntime = options.waitForRuntime ?? 'first-connection';
    this.#lists = new ListStreams(options.streamLists ?? true, () => channel.connections);
  }

  /** The endpoint in its full form. */
  get endpoint(): string {
    return this.#endpoint.url;
  }

  /**
   * Asks the runtime who it is and refuses one that does not speak CRI v1.
   * @throws CriError `UNIMPLEMENTED` where it does not; it says which API and which runtime it found instead
   */
  async connect(signal?: AbortSignal): Promise<T.VersionResponse> {
    try {
      return await this.version({}, signal);
    } catch (error) {
      if (CriError.from(error).code !== 'UNIMPLEMENTED') throw error;
      const old = await this.unary(versionV1alpha2, {}, signal).catch((failure: unknown) => {
        if (CriError.from(failure).code === 'UNIMPLEMENTED') return undefined;
        throw failure;
      });
      throw unsupportedRuntime(this.#endpoint.url, old, error);
    }
  }

  /** Cancels the calls that are under way, waits for them to end, and closes the connection. */
  close(): Promise<void> {
    return this.#channel.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  override version(request: Init<T.VersionRequest>, signal?: AbortSignal): Promise<T.VersionResponse> {
    return this.unary(runtimeServiceRpcs.version, request, signal, checks.checkVersion);
  }

  override runPodSandbox(
    request: Init<T.RunPodSandboxRequest>,
    signal?: AbortSignal,
  ): Promise<T.RunPodSandboxResponse> {
    return this.unary(runtimeServiceRpcs.runPodSandbox, request, signal, checks.checkRunPodSandbox);
  }

  override podSandboxStatus(
    request: Init<T.PodSandboxStatusRequest>,
    signal?: AbortSignal,
  ): Promise<T.PodSandboxStatusResponse> {
    return this.unary(runtimeServiceRpcs.podSandboxStatus, request, signal, checks.checkPodSandboxStatus);
  }

  override createContainer(
    request: Init<T.CreateContainerRequest>,
    signal?: AbortSignal,
  ): Promise<T.CreateContainerResponse> {
    return this.unary(runtimeServiceRpcs.createContainer, request, signal, checks.checkCreateContainer);
  }

  override containerStatus(
    request: Init<T.ContainerStatusRequest>,
    signal?: AbortSignal,
  ): Promise<T.ContainerStatusResponse> {
    return this.unary(runtimeServiceRpcs.containerStatus, request, signal, checks.checkContainerStatus);
  }

  override exec(request: Init<T.ExecRequest>, signal?: AbortSignal): Promise<T.ExecResponse> {
    return this.unary(runtimeServiceRpcs.exec, request, signal, checks.checkStreamingUrl);
  }

  override attach(request: Init<T.AttachRequest>, signal?: AbortSignal): Promise<T.AttachResponse> {
    return this.unary(runtimeServiceRpcs.attach, request, signal, checks.checkStreamingUrl);
  }

  override portForward(request: Init<T.PortForwardRequest>, signal?: AbortSignal): Promise<T.PortForwardResponse> {
    return this.unary(runtimeServiceRpcs.portForward, request, signal, checks.checkStreamingUrl);
  }

  override status(request: Init<T.StatusRequest>, signal?: AbortSignal): Promise<T.StatusResponse> {
    return this.unary(runtimeServiceRpcs.status, request, signal, checks.checkStatus);
  }

  override imageStatus(request: Init<T.ImageStatusRequest>, signal?: AbortSignal): Promise<T.ImageStatusResponse> {
    return this.unary(imageServiceRpcs.imageStatus, request, signal, checks.checkImageStatus);
  }

  override pullImage(request: Init<T.PullImageRequest>, signal?: AbortSignal): Promise<T.PullImageResponse> {
    return this.unary(imageServiceRpcs.pullImage, request, signal, checks.checkPullImage);
  }

  /**
   * A timeout below the client's own is sent as the client's own, for nobody would wait for it to end sooner.
   * @throws CriError `INVALID_ARGUMENT` for a negative timeout
   */
  override checkpointContainer(
    request: Init<T.CheckpointContainerRequest>,
    signal?: AbortSignal,
  ): Promise<T.CheckpointContainerResponse> {
    const timeout = Math.max(request.timeout ?? 0, Math.trunc(this.#timeoutMs / 1000));
    if ((request.timeout ?? 0) < 0) return Promise.reject(negativeTimeout());
    return this.unary(runtimeServiceRpcs.checkpointContainer, { ...request, timeout }, signal);
  }

  override async listPodSandbox(
    request: Init<T.ListPodSandboxRequest>,
    signal?: AbortSignal,
  ): Promise<T.ListPodSandboxResponse> {
    const { listPodSandbox: plain, streamPodSandboxes: stream } = runtimeServiceRpcs;
    const items = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.items,
      (r) => r.podSandboxes,
      isOfOnePod(request.filter),
    );
    return { items };
  }

  override async listContainers(
    request: Init<T.ListContainersRequest>,
    signal?: AbortSignal,
  ): Promise<T.ListContainersResponse> {
    const { listContainers: plain, streamContainers: stream } = runtimeServiceRpcs;
    const containers = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.containers,
      (r) => r.containers,
      isOfOnePod(request.filter),
    );
    return { containers };
  }

  override async listContainerStats(
    request: Init<T.ListContainerStatsRequest>,
    signal?: AbortSignal,
  ): Promise<T.ListContainerStatsResponse> {
    const { listContainerStats: plain, streamContainerStats: stream } = runtimeServiceRpcs;
    const stats = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.stats,
      (r) => r.containerStats,
    );
    return { stats };
  }

  override async listPodSandboxStats(
    request: Init<T.ListPodSandboxStatsRequest>,
    signal?: AbortSignal,
  ): Promise<T.ListPodSandboxStatsResponse> {
    const { listPodSandboxStats: plain, streamPodSandboxStats: stream } = runtimeServiceRpcs;
    const stats = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.stats,
      (r) => r.podSandboxStats,
    );
    return { stats };
  }

  override async listPodSandboxMetrics(
    request: Init<T.ListPodSandboxMetricsRequest>,
    signal?: AbortSignal,
  ): Promise<T.ListPodSandboxMetricsResponse> {
    const { listPodSandboxMetrics: plain, streamPodSandboxMetrics: stream } = runtimeServiceRpcs;
    const podMetrics = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.podMetrics,
      (r) => r.podSandboxMetrics,
    );
    return { podMetrics };
  }

  override async listImages(request: Init<T.ListImagesRequest>, signal?: AbortSignal): Promise<T.ListImagesResponse> {
    const { listImages: plain, streamImages: stream } = imageServiceRpcs;
    const images = await this.#list(
      plain,
      stream,
      request,
      signal,
      (r) => r.images,
      (r) => r.images,
    );
    return { images };
  }

  protected override unary<Req, Res>(
    rpc: UnaryRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
    check?: checks.ResponseCheck<Res>,
  ): Promise<Res> {
    return this.#measured(rpc.name, request, async () => {
      const response = await this.#channel.unary(rpc, request, this.#callOptions(rpc.name, request, signal));
      const lack = check?.(response);
      if (lack === undefined) return response;
      throw new CriError({ rpc: rpc.name, code: 'INTERNAL', details: `the runtime's answer is incomplete: ${lack}` });
    });
  }

  protected override async *stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Res, void, undefined> {
    const end = this.#metrics.begin(rpc.name, request);
    let failed = false;
    try {
      yield* this.#channel.stream(rpc, request, this.#callOptions(rpc.name, request, signal));
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      end(failed);
    }
  }

  async #measured<Res>(rpc: string, request: unknown, call: () => Promise<Res>): Promise<Res> {
    const end = this.#metrics.begin(rpc, request);
    let failed = true;
    try {
      const response = await call();
      failed = false;
      return response;
    } finally {
      end(failed);
    }
  }

  #list<Req, Res, Chunk, Item>(
    plain: UnaryRpc<Req, Res>,
    stream: StreamRpc<NoInfer<Req>, Chunk>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
    itemsOf: (response: Res) => readonly Item[],
    itemsOfChunk: (chunk: Chunk) => readonly Item[],
    expectFew = false,
  ): Promise<Item[]> {
    return this.#measured(plain.name, request, () =>
      this.#lists.list(
        stream.name,
        () => this.#channel.stream(stream, request, this.#callOptions(stream.name, request, signal)),
        itemsOfChunk,
        async () => itemsOf(await this.#channel.unary(plain, request, this.#callOptions(plain.name, request, signal))),
        expectFew,
      ),
    );
  }

  #callOptions(rpc: string, request: unknown, signal: AbortSignal | undefined): CallOptions {
    const isFirst = this.#channel.connections === 0;
    return {
      timeoutMs: callTimeoutMs(rpc, request, this.#timeoutMs),
      waitForReady: this.#waitForRuntime === 'always' || (this.#waitForRuntime === 'first-connection' && isFirst),
      metadata: traceMetadata(this.#traceContext()),
      signal,
    };
  }
}

function negativeTimeout(): CriError {
  const details = 'CheckpointContainerRequest.timeout: expected 0 or more seconds';
  return new CriError({ rpc: 'CheckpointContainer', code: 'INVALID_ARGUMENT', details });
}
