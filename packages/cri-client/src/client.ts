import { checkComponents, checkOptions } from '@node-agent/async';
import type { Init, StreamRpc, UnaryRpc } from '@node-agent/grpc';
import { RuntimeCalls } from './calls.ts';
import type { CriClientComponents, CriClientOptions } from './client-options.ts';
import { briefLists, type ContainerBrief } from './container-states.ts';
import { type Endpoint, parseEndpoint } from './endpoint.ts';
import { CriError } from './errors.ts';
import { imageServiceRpcs, RpcMethods, runtimeServiceRpcs } from './generated/services.ts';
import type {
  AttachRequest,
  AttachResponse,
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecRequest,
  ExecResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListImagesRequest,
  ListImagesResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  PortForwardRequest,
  PortForwardResponse,
  PullImageRequest,
  PullImageResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  StatusRequest,
  StatusResponse,
  VersionRequest,
  VersionResponse,
} from './generated/types.ts';
import { isOfOnePod } from './list-streams.ts';
import * as checks from './response-checks.ts';
import { unsupportedRuntime, versionV1alpha2 } from './version.ts';

/**
 * A client of a container runtime (`RuntimeService` and `ImageService` of CRI v1) over gRPC, with one method per RPC.
 * The constructor does no I/O: the client connects at the first call and reconnects after each loss. Every method
 * throws {@link CriError}: for an error that the runtime returned, for a missed deadline (`DEADLINE_EXCEEDED`), for an
 * aborted signal (`CANCELLED`, with the signal's reason as its cause), and for a response that lacks a required field
 * (`INTERNAL`).
 */
export class CriClient extends RpcMethods {
  readonly #endpoint: Endpoint;
  readonly #calls: RuntimeCalls;

  /** @throws OptionsError naming the component or option that is not valid */
  constructor(components: CriClientComponents, options: CriClientOptions) {
    super();
    checkOptions('CriClient', options, {
      endpoint: 'string',
      timeoutMs: 'positive?',
      streamLists: 'boolean?',
      waitForRuntime: [undefined, 'first-connection', 'always', 'never'],
      transport: [undefined, 'grpc-js', 'lean'],
    });
    checkComponents('CriClient', components, {});
    this.#endpoint = parseEndpoint(options.endpoint);
    const { warning } = this.#endpoint;
    if (warning !== undefined) components.logger?.warn({ endpoint: options.endpoint }, warning);
    this.#calls = new RuntimeCalls(this.#endpoint, components, options);
  }

  /** Complete endpoint URL. */
  get endpoint(): string {
    return this.#endpoint.url;
  }

  /**
   * Requests the runtime's name and version, and rejects a runtime that does not serve CRI v1.
   * @throws CriError `UNIMPLEMENTED` if the runtime does not serve CRI v1; the message names the API and the runtime
   * found instead
   */
  async connect(signal?: AbortSignal): Promise<VersionResponse> {
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

  /** Cancels the calls in progress, waits until they have settled, and closes the connection. */
  close(): Promise<void> {
    return this.#calls.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  override version(request: Init<VersionRequest>, signal?: AbortSignal): Promise<VersionResponse> {
    return this.unary(runtimeServiceRpcs.version, request, signal, checks.checkVersion);
  }

  override runPodSandbox(request: Init<RunPodSandboxRequest>, signal?: AbortSignal): Promise<RunPodSandboxResponse> {
    return this.unary(runtimeServiceRpcs.runPodSandbox, request, signal, checks.checkRunPodSandbox);
  }

  override podSandboxStatus(
    request: Init<PodSandboxStatusRequest>,
    signal?: AbortSignal,
  ): Promise<PodSandboxStatusResponse> {
    return this.unary(runtimeServiceRpcs.podSandboxStatus, request, signal, checks.checkPodSandboxStatus);
  }

  override createContainer(
    request: Init<CreateContainerRequest>,
    signal?: AbortSignal,
  ): Promise<CreateContainerResponse> {
    return this.unary(runtimeServiceRpcs.createContainer, request, signal, checks.checkCreateContainer);
  }

  override containerStatus(
    request: Init<ContainerStatusRequest>,
    signal?: AbortSignal,
  ): Promise<ContainerStatusResponse> {
    return this.unary(runtimeServiceRpcs.containerStatus, request, signal, checks.checkContainerStatus);
  }

  override exec(request: Init<ExecRequest>, signal?: AbortSignal): Promise<ExecResponse> {
    return this.unary(runtimeServiceRpcs.exec, request, signal, checks.checkStreamingUrl);
  }

  override attach(request: Init<AttachRequest>, signal?: AbortSignal): Promise<AttachResponse> {
    return this.unary(runtimeServiceRpcs.attach, request, signal, checks.checkStreamingUrl);
  }

  override portForward(request: Init<PortForwardRequest>, signal?: AbortSignal): Promise<PortForwardResponse> {
    return this.unary(runtimeServiceRpcs.portForward, request, signal, checks.checkStreamingUrl);
  }

  override status(request: Init<StatusRequest>, signal?: AbortSignal): Promise<StatusResponse> {
    return this.unary(runtimeServiceRpcs.status, request, signal, checks.checkStatus);
  }

  override imageStatus(request: Init<ImageStatusRequest>, signal?: AbortSignal): Promise<ImageStatusResponse> {
    return this.unary(imageServiceRpcs.imageStatus, request, signal, checks.checkImageStatus);
  }

  override pullImage(request: Init<PullImageRequest>, signal?: AbortSignal): Promise<PullImageResponse> {
    return this.unary(imageServiceRpcs.pullImage, request, signal, checks.checkPullImage);
  }

  /**
   * Checkpoints a container. If the requested timeout is shorter than the client's default, the default is sent
   * instead, because the client waits that long anyway.
   * @throws CriError `INVALID_ARGUMENT` for a negative timeout
   */
  override checkpointContainer(
    request: Init<CheckpointContainerRequest>,
    signal?: AbortSignal,
  ): Promise<CheckpointContainerResponse> {
    const timeout = Math.max(request.timeout ?? 0, Math.trunc(this.#calls.timeoutMs / 1000));
    if ((request.timeout ?? 0) < 0) return Promise.reject(negativeTimeout());
    return this.unary(runtimeServiceRpcs.checkpointContainer, { ...request, timeout }, signal);
  }

  override async listPodSandbox(
    request: Init<ListPodSandboxRequest>,
    signal?: AbortSignal,
  ): Promise<ListPodSandboxResponse> {
    const { listPodSandbox: plain, streamPodSandboxes: stream } = runtimeServiceRpcs;
    const items = await this.#calls.list(
      { plain, stream },
      request,
      signal,
      (r) => r.items,
      (r) => r.podSandboxes,
      isOfOnePod(request.filter),
    );
    return { items };
  }

  override async listContainers(
    request: Init<ListContainersRequest>,
    signal?: AbortSignal,
  ): Promise<ListContainersResponse> {
    const { listContainers: plain, streamContainers: stream } = runtimeServiceRpcs;
    const containers = await this.#calls.list(
      { plain, stream },
      request,
      signal,
      (r) => r.containers,
      (r) => r.containers,
      isOfOnePod(request.filter),
    );
    return { containers };
  }

  /**
   * Does the same as {@link listContainers}, but returns only the ID and state of each container. For hundreds of
   * containers this costs a tenth of the full list.
   */
  async listContainerStates(
    request: Init<ListContainersRequest>,
    signal?: AbortSignal,
  ): Promise<{ readonly containers: readonly ContainerBrief[] }> {
    const containers = await this.#calls.list(
      briefLists,
      request,
      signal,
      (r) => r.containers,
      (r) => r.containers,
      isOfOnePod(request.filter),
    );
    return { containers };
  }

  override async listContainerStats(
    request: Init<ListContainerStatsRequest>,
    signal?: AbortSignal,
  ): Promise<ListContainerStatsResponse> {
    const { listContainerStats: plain, streamContainerStats: stream } = runtimeServiceRpcs;
    const stats = await this.#calls.list(
      { plain, stream },
      request,
      signal,
      (r) => r.stats,
      (r) => r.containerStats,
    );
    return { stats };
  }

  override async listPodSandboxStats(
    request: Init<ListPodSandboxStatsRequest>,
    signal?: AbortSignal,
  ): Promise<ListPodSandboxStatsResponse> {
    const { listPodSandboxStats: plain, streamPodSandboxStats: stream } = runtimeServiceRpcs;
    const stats = await this.#calls.list(
      { plain, stream },
      request,
      signal,
      (r) => r.stats,
      (r) => r.podSandboxStats,
    );
    return { stats };
  }

  override async listPodSandboxMetrics(
    request: Init<ListPodSandboxMetricsRequest>,
    signal?: AbortSignal,
  ): Promise<ListPodSandboxMetricsResponse> {
    const { listPodSandboxMetrics: plain, streamPodSandboxMetrics: stream } = runtimeServiceRpcs;
    const podMetrics = await this.#calls.list(
      { plain, stream },
      request,
      signal,
      (r) => r.podMetrics,
      (r) => r.podSandboxMetrics,
    );
    return { podMetrics };
  }

  override async listImages(request: Init<ListImagesRequest>, signal?: AbortSignal): Promise<ListImagesResponse> {
    const { listImages: plain, streamImages: stream } = imageServiceRpcs;
    const images = await this.#calls.list(
      { plain, stream },
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
    check?: (response: Res) => string | undefined,
  ): Promise<Res> {
    return this.#calls.unary(rpc, request, signal, check);
  }

  protected override stream<Req, Res>(
    rpc: StreamRpc<Req, Res>,
    request: Init<Req>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Res, void, undefined> {
    return this.#calls.stream(rpc, request, signal);
  }
}

function negativeTimeout(): CriError {
  const details = 'CheckpointContainerRequest.timeout: must be 0 or more seconds';
  return new CriError({ rpc: 'CheckpointContainer', code: 'INVALID_ARGUMENT', details });
}
