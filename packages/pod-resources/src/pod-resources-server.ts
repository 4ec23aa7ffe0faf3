import { posix } from 'node:path';
import {
  abortable,
  type Clock,
  checkComponents,
  checkOptions,
  OptionsError,
  StartOnce,
  sleep,
  TokenBucket,
  untilAborted,
} from '@node-agent/async';
import { GrpcError, GrpcServer, type Init, type Service, service } from '@node-agent/grpc';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { containerDevices, placedDevices } from './device-lists.ts';
import { podResourcesListerRpcs as v1Rpcs } from './generated/v1/services.ts';
import type { ContainerDevices, ContainerResources, PodResources } from './generated/v1/types.ts';
import { podResourcesListerRpcs as v1alpha1Rpcs } from './generated/v1alpha1/services.ts';
import { containerMemory } from './memory-lists.ts';
import { type PodResourcesMetrics, podResourcesMetrics } from './metrics.ts';
import type { ClaimHoldings, DeviceHoldings, PodProvider, ResourceHoldings } from './ports.ts';

/** Dependencies of a {@link PodResourcesServer}. */
export interface PodResourcesServerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'lstat' | 'remove'>;
  readonly pods: PodProvider;
  /** The node's devices; absent if the node has no device manager. */
  readonly devices?: DeviceHoldings | undefined;
  /** The node's ResourceClaims; absent if the node has no manager of ResourceClaims. */
  readonly claims?: ClaimHoldings | undefined;
  /** The node's exclusive CPUs and memory; absent if the node has no CPU and memory managers. */
  readonly resources?: ResourceHoldings | undefined;
}

/** Options of a {@link PodResourcesServer}. */
export interface PodResourcesServerOptions {
  /**
   * Absolute path of the socket, at most 107 bytes: `<root>/pod-resources/kubelet.sock`. The directory is created if it
   * does not exist.
   */
  readonly socketPath: string;
  /**
   * Feature gate KubeletPodResourcesListUseActivePods: if true, `List` of v1 returns only pods that hold resources.
   * Default: true.
   */
  readonly listActive?: boolean;
}

/**
 * Rate limit of the requests to the API (`DefaultQPS` and `DefaultBurstTokens` of
 * `pkg/kubelet/apis/podresources/constants.go`).
 */
const RATE = { qps: 100, burst: 10 };
const RETRY_MS = 5_000;

/**
 * Server of the pod resources API for monitoring agents (`pkg/kubelet/apis/podresources`).
 */
export class PodResourcesServer {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: PodResourcesMetrics;
  readonly #fs: PodResourcesServerComponents['fs'];
  readonly #pods: PodProvider;
  readonly #devices: DeviceHoldings | undefined;
  readonly #claims: ClaimHoldings | undefined;
  readonly #resources: ResourceHoldings | undefined;
  readonly #options: PodResourcesServerOptions;
  readonly #tokens: TokenBucket;
  readonly #startOnce = new StartOnce('PodResourcesServer');
  readonly #listening = Promise.withResolvers<void>();

  /** @throws OptionsError that names the invalid component or option */
  constructor(components: PodResourcesServerComponents, options: PodResourcesServerOptions) {
    checkOptions('PodResourcesServer', options, { socketPath: 'string', listActive: 'boolean?' });
    checkComponents('PodResourcesServer', components, {
      fs: ['mkdir', 'remove', 'lstat'],
      pods: ['active', 'all'],
    });
    if (!posix.isAbsolute(options.socketPath)) {
      const problem = `socketPath: must be an absolute path, not ${JSON.stringify(options.socketPath)}`;
      throw new OptionsError('PodResourcesServer', 'socketPath', problem);
    }
    const { clock, logger, metrics, fs, pods, devices, claims, resources } = withDefaults(components);
    this.#clock = clock;
    this.#logger = logger;
    this.#metrics = podResourcesMetrics(metrics);
    this.#fs = fs;
    this.#pods = pods;
    this.#devices = devices;
    this.#claims = claims;
    this.#resources = resources;
    this.#options = options;
    this.#tokens = new TokenBucket({ clock }, RATE);
  }

  /** Resolves when {@link start} listens. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#listening.promise, signal);
  }

  /** Serves until the signal is aborted. If listening fails, the error is logged and listening is retried. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { socketPath } = this.#options;
    while (!signal.aborted) {
      const server = new GrpcServer({ socketPath, services: [this.#v1(), this.#v1alpha1()] });
      try {
        await this.#fs.mkdir(socketPath.slice(0, socketPath.lastIndexOf('/')), { mode: 0o750 });
        await this.#clear(socketPath);
        await server.start();
        this.#logger.info({ socketPath }, 'Starting to serve the podresources API');
        this.#listening.resolve();
        await untilAborted(signal);
      } catch (err) {
        this.#logger.error({ err }, 'Failed to create listener for podResources endpoint');
        await sleep(this.#clock, RETRY_MS, signal).catch(() => {});
      } finally {
        server.close();
      }
    }
  }

  #v1(): Service {
    const server_api_version = 'v1';
    return service(v1Rpcs, {
      list: this.#limited(async () => {
        this.#metrics.total.inc({ server_api_version });
        this.#metrics.list.inc({ server_api_version });
        const pods = (this.#options.listActive ?? true) ? this.#pods.active() : this.#pods.all();
        this.#devices?.freeGone();
        return { podResources: pods.map((pod) => this.#podResources(pod)) };
      }),
      getAllocatableResources: this.#limited(async () => {
        this.#metrics.total.inc({ server_api_version });
        this.#metrics.getAllocatable.inc({ server_api_version });
        const devices = [...(this.#devices?.allocatableDevices() ?? [])];
        return {
          devices: containerDevices(devices.flatMap(([resource, all]) => all.map((one) => ({ resource, ...one })))),
          cpuIds: this.#resources?.allocatableCpus() ?? [],
          memory: containerMemory(this.#resources?.allocatableMemory() ?? []),
        };
      }),
      get: this.#limited(async ({ podNamespace, podName }) => {
        this.#metrics.total.inc({ server_api_version });
        this.#metrics.get.inc({ server_api_version });
        // A finished pod has no resources, so it is not found (`kubeletPodsProvider.GetPodByName`, `pkg/kubelet/kubelet.go`).
        const pod = this.#pods
          .active()
          .find(({ metadata: { namespace, name } }) => namespace === podNamespace && name === podName);
        if (pod === undefined) {
          this.#metrics.getErrors.inc({ server_api_version });
          throw new GrpcError({ code: 'UNKNOWN', details: `pod ${podName} in namespace ${podNamespace} not found` });
        }
        return { podResources: this.#podResources(pod) };
      }),
    });
  }

  #v1alpha1(): Service {
    return service(v1alpha1Rpcs, {
      list: this.#limited(async () => {
        this.#metrics.total.inc({ server_api_version: 'v1alpha1' });
        const pods = this.#pods.all();
        this.#devices?.freeGone();
        return {
          podResources: pods.map(({ metadata: { name, namespace, uid }, spec }) => ({
            ...{ name, namespace },
            containers: spec.containers.map((container) => ({
              name: container.name,
              devices: this.#devicesOf(uid, container.name),
            })),
          })),
        };
      }),
    });
  }

  /** Returns the resources of a pod's containers, including sidecar containers, but not other init containers. */
  #podResources(pod: Pod): Init<PodResources> {
    const { name, namespace, uid } = pod.metadata;
    const { spec } = pod;
    const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
    const containers = [...sidecars, ...spec.containers].map(
      (container): Init<ContainerResources> => ({
        name: container.name,
        devices: this.#devicesOf(uid, container.name),
        dynamicResources: this.#claims?.dynamicResources(pod, container) ?? [],
        cpuIds: this.#resources?.exclusiveCpusOf(uid, container.name) ?? [],
        memory: containerMemory(this.#resources?.memoryOf(uid, container.name) ?? []),
      }),
    );
    return { name, namespace, containers };
  }

  #devicesOf(podUid: string, container: string): readonly Init<ContainerDevices>[] {
    return this.#devices === undefined
      ? []
      : containerDevices(placedDevices(this.#devices.devicesOf(podUid, container)));
  }

  /** Wraps a handler so that requests above the rate limit are rejected. */
  #limited<Req, Res>(handler: (request: Req) => Promise<Res>): (request: Req) => Promise<Res> {
    return async (request) => {
      if (!this.#tokens.tryAcquire())
        throw new GrpcError({ code: 'RESOURCE_EXHAUSTED', details: 'rejected by rate limit' });
      return await handler(request);
    };
  }

  /**
   * Removes the socket of an earlier process, or any other file at its path (`CreateListener`, `cri-client/pkg/util`).
   */
  async #clear(path: string): Promise<void> {
    try {
      if ((await this.#fs.lstat(path)).kind !== 'directory') await this.#fs.remove(path);
    } catch (err) {
      if (!isMissing(err)) throw err;
    }
  }
}
