import type { ImageService, Init, RuntimeService, StreamRpc, UnaryRpc } from '@node-agent/cri-client';
import type { Dispatcher } from './dispatch.ts';
import { type Call, type Handlers, rpcs } from './rpcs.ts';

interface Service {
  readonly dispatcher: Dispatcher;
  readonly handlers: Handlers;
}

/**
 * Sets the dispatcher and handlers of a service. A function of this module, so that the service has no public setter.
 */
export let serve: (target: DispatchedService, service: Service) => void;

/** Implements both services of CRI by passing each RPC through a dispatcher to its handler. */
export abstract class DispatchedService implements RuntimeService, ImageService {
  static {
    serve = (target, service) => {
      target.#service = service;
    };
  }

  #service: Service | undefined;

  readonly version: RuntimeService['version'] = (request, signal) =>
    this.#unary(rpcs.version, (handlers) => handlers.version, request, signal);
  readonly runPodSandbox: RuntimeService['runPodSandbox'] = (request, signal) =>
    this.#unary(rpcs.runPodSandbox, (handlers) => handlers.runPodSandbox, request, signal);
  readonly stopPodSandbox: RuntimeService['stopPodSandbox'] = (request, signal) =>
    this.#unary(rpcs.stopPodSandbox, (handlers) => handlers.stopPodSandbox, request, signal);
  readonly removePodSandbox: RuntimeService['removePodSandbox'] = (request, signal) =>
    this.#unary(rpcs.removePodSandbox, (handlers) => handlers.removePodSandbox, request, signal);
  readonly podSandboxStatus: RuntimeService['podSandboxStatus'] = (request, signal) =>
    this.#unary(rpcs.podSandboxStatus, (handlers) => handlers.podSandboxStatus, request, signal);
  readonly listPodSandbox: RuntimeService['listPodSandbox'] = (request, signal) =>
    this.#unary(rpcs.listPodSandbox, (handlers) => handlers.listPodSandbox, request, signal);
  readonly streamPodSandboxes: RuntimeService['streamPodSandboxes'] = (request, signal) =>
    this.#stream(rpcs.streamPodSandboxes, (handlers) => handlers.streamPodSandboxes, request, signal);
  readonly createContainer: RuntimeService['createContainer'] = (request, signal) =>
    this.#unary(rpcs.createContainer, (handlers) => handlers.createContainer, request, signal);
  readonly startContainer: RuntimeService['startContainer'] = (request, signal) =>
    this.#unary(rpcs.startContainer, (handlers) => handlers.startContainer, request, signal);
  readonly stopContainer: RuntimeService['stopContainer'] = (request, signal) =>
    this.#unary(rpcs.stopContainer, (handlers) => handlers.stopContainer, request, signal);
  readonly removeContainer: RuntimeService['removeContainer'] = (request, signal) =>
    this.#unary(rpcs.removeContainer, (handlers) => handlers.removeContainer, request, signal);
  readonly listContainers: RuntimeService['listContainers'] = (request, signal) =>
    this.#unary(rpcs.listContainers, (handlers) => handlers.listContainers, request, signal);
  readonly streamContainers: RuntimeService['streamContainers'] = (request, signal) =>
    this.#stream(rpcs.streamContainers, (handlers) => handlers.streamContainers, request, signal);
  readonly containerStatus: RuntimeService['containerStatus'] = (request, signal) =>
    this.#unary(rpcs.containerStatus, (handlers) => handlers.containerStatus, request, signal);
  readonly updateContainerResources: RuntimeService['updateContainerResources'] = (request, signal) =>
    this.#unary(rpcs.updateContainerResources, (handlers) => handlers.updateContainerResources, request, signal);
  readonly reopenContainerLog: RuntimeService['reopenContainerLog'] = (request, signal) =>
    this.#unary(rpcs.reopenContainerLog, (handlers) => handlers.reopenContainerLog, request, signal);
  readonly execSync: RuntimeService['execSync'] = (request, signal) =>
    this.#unary(rpcs.execSync, (handlers) => handlers.execSync, request, signal);
  readonly exec: RuntimeService['exec'] = (request, signal) =>
    this.#unary(rpcs.exec, (handlers) => handlers.exec, request, signal);
  readonly attach: RuntimeService['attach'] = (request, signal) =>
    this.#unary(rpcs.attach, (handlers) => handlers.attach, request, signal);
  readonly portForward: RuntimeService['portForward'] = (request, signal) =>
    this.#unary(rpcs.portForward, (handlers) => handlers.portForward, request, signal);
  readonly containerStats: RuntimeService['containerStats'] = (request, signal) =>
    this.#unary(rpcs.containerStats, (handlers) => handlers.containerStats, request, signal);
  readonly listContainerStats: RuntimeService['listContainerStats'] = (request, signal) =>
    this.#unary(rpcs.listContainerStats, (handlers) => handlers.listContainerStats, request, signal);
  readonly streamContainerStats: RuntimeService['streamContainerStats'] = (request, signal) =>
    this.#stream(rpcs.streamContainerStats, (handlers) => handlers.streamContainerStats, request, signal);
  readonly podSandboxStats: RuntimeService['podSandboxStats'] = (request, signal) =>
    this.#unary(rpcs.podSandboxStats, (handlers) => handlers.podSandboxStats, request, signal);
  readonly listPodSandboxStats: RuntimeService['listPodSandboxStats'] = (request, signal) =>
    this.#unary(rpcs.listPodSandboxStats, (handlers) => handlers.listPodSandboxStats, request, signal);
  readonly streamPodSandboxStats: RuntimeService['streamPodSandboxStats'] = (request, signal) =>
    this.#stream(rpcs.streamPodSandboxStats, (handlers) => handlers.streamPodSandboxStats, request, signal);
  readonly updateRuntimeConfig: RuntimeService['updateRuntimeConfig'] = (request, signal) =>
    this.#unary(rpcs.updateRuntimeConfig, (handlers) => handlers.updateRuntimeConfig, request, signal);
  readonly status: RuntimeService['status'] = (request, signal) =>
    this.#unary(rpcs.status, (handlers) => handlers.status, request, signal);
  readonly checkpointContainer: RuntimeService['checkpointContainer'] = (request, signal) =>
    this.#unary(rpcs.checkpointContainer, (handlers) => handlers.checkpointContainer, request, signal);
  readonly getContainerEvents: RuntimeService['getContainerEvents'] = (request, signal) =>
    this.#stream(rpcs.getContainerEvents, (handlers) => handlers.getContainerEvents, request, signal);
  readonly listMetricDescriptors: RuntimeService['listMetricDescriptors'] = (request, signal) =>
    this.#unary(rpcs.listMetricDescriptors, (handlers) => handlers.listMetricDescriptors, request, signal);
  readonly listPodSandboxMetrics: RuntimeService['listPodSandboxMetrics'] = (request, signal) =>
    this.#unary(rpcs.listPodSandboxMetrics, (handlers) => handlers.listPodSandboxMetrics, request, signal);
  readonly streamPodSandboxMetrics: RuntimeService['streamPodSandboxMetrics'] = (request, signal) =>
    this.#stream(rpcs.streamPodSandboxMetrics, (handlers) => handlers.streamPodSandboxMetrics, request, signal);
  readonly runtimeConfig: RuntimeService['runtimeConfig'] = (request, signal) =>
    this.#unary(rpcs.runtimeConfig, (handlers) => handlers.runtimeConfig, request, signal);
  readonly updatePodSandboxResources: RuntimeService['updatePodSandboxResources'] = (request, signal) =>
    this.#unary(rpcs.updatePodSandboxResources, (handlers) => handlers.updatePodSandboxResources, request, signal);
  readonly listImages: ImageService['listImages'] = (request, signal) =>
    this.#unary(rpcs.listImages, (handlers) => handlers.listImages, request, signal);
  readonly streamImages: ImageService['streamImages'] = (request, signal) =>
    this.#stream(rpcs.streamImages, (handlers) => handlers.streamImages, request, signal);
  readonly imageStatus: ImageService['imageStatus'] = (request, signal) =>
    this.#unary(rpcs.imageStatus, (handlers) => handlers.imageStatus, request, signal);
  readonly pullImage: ImageService['pullImage'] = (request, signal) =>
    this.#unary(rpcs.pullImage, (handlers) => handlers.pullImage, request, signal);
  readonly removeImage: ImageService['removeImage'] = (request, signal) =>
    this.#unary(rpcs.removeImage, (handlers) => handlers.removeImage, request, signal);
  readonly imageFsInfo: ImageService['imageFsInfo'] = (request, signal) =>
    this.#unary(rpcs.imageFsInfo, (handlers) => handlers.imageFsInfo, request, signal);

  #served(): Service {
    if (this.#service === undefined) throw new TypeError('a method was called before the constructor had returned');
    return this.#service;
  }

  #unary<Req extends object, Res extends object>(
    rpc: UnaryRpc<Req, Res>,
    handler: (handlers: Handlers) => (request: NoInfer<Req>, call: Call) => Promise<NoInfer<Init<Res>>>,
    request: NoInfer<Init<Req>>,
    signal: AbortSignal | undefined,
  ): Promise<Res> {
    const { dispatcher, handlers } = this.#served();
    return dispatcher.unary(rpc, handler(handlers), request, signal);
  }

  #stream<Req extends object, Res extends object>(
    rpc: StreamRpc<Req, Res>,
    handler: (handlers: Handlers) => (request: NoInfer<Req>, call: Call) => AsyncIterable<NoInfer<Init<Res>>>,
    request: NoInfer<Init<Req>>,
    signal: AbortSignal | undefined,
  ): AsyncIterable<Res> {
    const { dispatcher, handlers } = this.#served();
    return dispatcher.stream(rpc, handler(handlers), request, signal);
  }
}
