import { posix } from 'node:path';
import {
  type Clock,
  checkComponents,
  checkOptions,
  every,
  OptionsError,
  type Random,
  StartOnce,
} from '@node-agent/async';
import { type GrpcTransport, unixSockets } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import type { Container, ContainerStatus, Pod } from '@node-agent/pod-spec';
import { errorText, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { ClaimCache } from './claim-cache.ts';
import { type ClaimInfo, cdiDeviceIds } from './claim-info.ts';
import { ClaimLocks } from './claim-locks.ts';
import { ClaimRecord } from './claim-record.ts';
import { ClaimsInUse } from './claims-in-use.ts';
import { DeviceHealths } from './device-healths.ts';
import { DraPlugins } from './dra-plugins.ts';
import { type DynamicResource, dynamicResource } from './dynamic-resources.ts';
import { DraError } from './errors.ts';
import { deviceKey, type HealthKey } from './health-table.ts';
import { type DraMetrics, draMetrics } from './metrics.ts';
import { type NotedWait, unnoted } from './noted-wait.ts';
import { type ClaimGates, containerClaims, containerRequests, usesClaims } from './pod-claims.ts';
import { type ClaimSource, Preparer } from './preparer.ts';
import { resourcesStatus } from './resource-status.ts';
import { type SliceRemoval, SliceRemover } from './slice-remover.ts';
import { Unpreparer } from './unpreparer.ts';

/** Port to the pods of the node. */
export interface DraPods {
  /**
   * Returns the pods that keep their claims: pods that hold resources of the node (N1), and pods in admission, which may
   * have claims from before a restart of the kubelet.
   */
  active(): readonly Pod[];
  /**
   * Returns whether a container of a pod that is not active may still run. As long as one may, the pod keeps its
   * claims. Default: no container may run.
   */
  mayRun?(uid: string): boolean;
  /**
   * Returns whether all pod sources have reported. Until then, the claims of pods that the kubelet does not know stay
   * prepared.
   */
  sourcesReady(): boolean;
}

/** Dependencies of a {@link DraManager}. */
export interface DraManagerComponents {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'open' | 'readdir' | 'remove' | 'writeFileAtomic'>;
  readonly claims: ClaimSource;
  readonly slices: SliceRemoval;
  readonly pods: DraPods;
  /** Transport between drivers and kubelet. Default: gRPC on unix sockets. */
  readonly transport?: GrpcTransport;
  /** Runs work for which a pod waits, and records the wait. Default: waits are not recorded. */
  readonly noted?: NotedWait;
  /** Called when the health of a device of these pods has changed, because their statuses contain it. */
  readonly onHealthChanged?: (podUids: readonly string[]) => void;
  /** Called when a claim of a pod that is no longer active has been unprepared. */
  readonly onUnprepared?: (podUid: string) => void;
}

/** Options of a {@link DraManager}. */
export interface DraManagerOptions {
  /** Absolute path of the directory for the state files: the root directory of the kubelet. */
  readonly directory: string;
  /** State of the feature gate DRAExtendedResource. Default: enabled. */
  readonly extendedResources?: boolean;
  /** State of the feature gate DRAWorkloadResourceClaims. Default: disabled. */
  readonly workloadClaims?: boolean;
  /**
   * State of the feature gate ResourceHealthStatus, with which drivers are asked for the health of devices. Default:
   * enabled.
   */
  readonly health?: boolean;
  /** State of the feature gate ResourceHealthStatusMessage. Default: enabled. */
  readonly healthMessages?: boolean;
}

/**
 * Interval at which the claims of removed pods are unprepared, as in upstream (`defaultReconcilePeriod` of
 * `pkg/kubelet/cm/dra/manager.go`).
 */
const RECONCILE_MS = 60_000;

/**
 * Prepares the ResourceClaims of pods through DRA drivers before the pods start, and unprepares them after the pods have
 * stopped (`pkg/kubelet/cm/dra`).
 */
export class DraManager {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: DraMetrics;
  readonly #components: DraManagerComponents;
  readonly #gates: ClaimGates;
  readonly #healthMessages: boolean;
  readonly #cache: ClaimCache;
  readonly #record: ClaimRecord;
  readonly #plugins: DraPlugins;
  readonly #slices: SliceRemover;
  /** Health of devices. `undefined` if the feature gate ResourceHealthStatus is disabled. */
  readonly #healths: DeviceHealths | undefined;
  readonly #noted: NotedWait;
  readonly #preparer: Preparer;
  readonly #unpreparer: Unpreparer;
  /** Pods whose claims {@link #reconcile} is unpreparing. */
  readonly #reconciled = new Set<string>();
  readonly #startOnce = new StartOnce('DraManager');

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: DraManagerComponents, options: DraManagerOptions) {
    checkOptions('DraManager', options, {
      directory: 'string',
      extendedResources: 'boolean?',
      workloadClaims: 'boolean?',
      health: 'boolean?',
      healthMessages: 'boolean?',
    });
    checkComponents('DraManager', components, {
      fs: ['mkdir', 'open', 'readdir', 'remove', 'writeFileAtomic'],
      claims: ['get'],
      slices: ['remove'],
      pods: ['active', 'sourcesReady'],
    });
    if (!posix.isAbsolute(options.directory)) {
      const problem = `directory: must be an absolute path, not ${JSON.stringify(options.directory)}`;
      throw new OptionsError('DraManager', 'directory', problem);
    }
    const { extendedResources = true, workloadClaims = false, health = true, healthMessages = true } = options;
    const {
      clock,
      random,
      logger,
      metrics,
      transport = unixSockets,
      noted = unnoted,
    } = withDefaults({
      random: undefined,
      ...components,
    });
    const { fs, claims: source, slices } = components;
    this.#clock = clock;
    this.#logger = logger;
    this.#metrics = draMetrics(metrics);
    this.#components = components;
    this.#noted = noted;
    this.#gates = { extendedResources, workloadClaims };
    this.#healthMessages = healthMessages;
    const inUse = new ClaimsInUse(this.#metrics.claimsInUse);
    const cache = new ClaimCache((before, after) => inUse.change(before, after));
    this.#cache = cache;
    const record = new ClaimRecord(fs, logger, cache, options.directory);
    this.#record = record;
    const onChange = (driver: string, devices: readonly HealthKey[]): void => this.#healthChanged(driver, devices);
    this.#healths = health ? new DeviceHealths({ clock, logger, fs, onChange }, options.directory) : undefined;
    const forgetSeries = (driver: string): void => this.#plugins.forgetSeries(driver);
    this.#slices = new SliceRemover({ clock, random, logger, slices, onAway: forgetSeries });
    const plugins = new DraPlugins({
      ...{ clock, logger, transport, metrics: this.#metrics.rpcs },
      follow: async (plugin) => await this.#healths?.follow(plugin),
      onUsable: (driver, isUsable) => this.#slices.usable(driver, isUsable),
    });
    this.#plugins = plugins;
    const parts = { cache, record, locks: new ClaimLocks(), plugins, noted };
    this.#preparer = new Preparer({ ...parts, source, gates: this.#gates });
    this.#unpreparer = new Unpreparer(parts);
  }

  /** Removes stale ResourceSlices and unprepares claims of removed pods, until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#slices.start(signal);
    await Promise.all([
      this.#healths?.start(signal),
      this.#load(),
      this.#plugins.start(signal),
      every(this.#clock, RECONCILE_MS, () => this.#reconcile(signal), signal, { immediate: false }),
    ]);
  }

  /**
   * Prepares the claims of a pod. Called before each creation of the pod's sandbox. Claims that are prepared already are
   * not prepared again. Returns synchronously if the pod has no claims.
   * @throws DraError with upstream's message
   */
  prepare(pod: Pod, signal: AbortSignal): Promise<void> | undefined {
    if (!usesClaims(pod, this.#gates)) return undefined;
    return this.#timed(pod, 'prepare', () => this.#preparer.prepare(pod, signal), signal);
  }

  /**
   * Unprepares the claims of a pod whose containers have all stopped. Returns synchronously if the pod has no claims.
   * @throws DraError with upstream's message; then the caller must repeat the call
   */
  unprepare(pod: Pod, signal: AbortSignal): Promise<void> | undefined {
    const { uid } = pod.metadata;
    const holds = this.#cache.claimsOf(uid).length > 0;
    if (!holds && !usesClaims(pod, this.#gates)) return undefined;
    const unprepare = async (): Promise<void> => {
      await this.#record.load();
      await this.#unpreparer.unprepare(uid, signal);
    };
    return this.#timed(pod, 'unprepare', unprepare, signal);
  }

  /**
   * Returns whether claims of a pod are still prepared, so that the Pod object must not be removed
   * (`PodMightNeedToUnprepareResources`). @param pod the pod, or `undefined` if the kubelet no longer knows the pod
   */
  holdsClaims(podUid: string, pod: Pod | undefined): boolean {
    if (this.#cache.claimsOf(podUid).length > 0) return true;
    return !this.#record.isLoaded && pod !== undefined && usesClaims(pod, this.#gates);
  }

  /**
   * Returns the CDI device IDs of a container. Returns synchronously if the container has no claims.
   * @throws DraError `NotPrepared`
   */
  cdiDevices(pod: Pod, container: Container): readonly string[] | Promise<readonly string[]> {
    const requests = containerRequests(pod, container, this.#gates);
    return requests.size === 0 ? [] : this.#cdiDevices(pod, requests);
  }

  /**
   * Returns the health of a container's claimed devices for its status, or an empty list if the container has no
   * claimed devices.
   */
  resourcesStatus(pod: Pod, container: Container): NonNullable<ContainerStatus['allocatedResourcesStatus']> {
    const healths = this.#healths;
    if (healths === undefined) return [];
    return resourcesStatus(pod, container, {
      claim: (name) => this.#claim(pod, name),
      health: (driver, device) => healths.of(driver, device),
      withMessages: this.#healthMessages,
    });
  }

  /** Returns the claimed devices of a container for the pod resources API. */
  dynamicResources(pod: Pod, container: Container): readonly DynamicResource[] {
    try {
      const names = containerClaims(pod, container, this.#gates);
      return names.flatMap((name) => this.#claim(pod, name) ?? []).map(dynamicResource);
    } catch (err) {
      if (!DraError.is(err)) throw err;
      this.#logger.debug({ podUid: pod.metadata.uid, reason: err.message }, 'Container has no claims yet');
      return [];
    }
  }

  /**
   * Returns why a plugin that was found by its socket cannot be used, in upstream's words, or `undefined` if the plugin
   * can be used.
   */
  validatePlugin(driver: string, endpoint: string, services: readonly string[]): string | undefined {
    return this.#plugins.validate(driver, endpoint, services);
  }

  /** Registers a plugin that was found by its socket. @throws Error in upstream's words */
  registerPlugin(driver: string, endpoint: string, services: readonly string[]): void {
    this.#plugins.register(driver, endpoint, services);
  }

  /** Deregisters a plugin whose socket was removed. */
  deregisterPlugin(driver: string, endpoint: string): void {
    this.#plugins.deregister(driver, endpoint);
  }

  #claim(pod: Pod, name: string): ClaimInfo | undefined {
    return this.#cache.get(`${pod.metadata.namespace}/${name}`);
  }

  async #cdiDevices(pod: Pod, requests: ReadonlyMap<string, ReadonlySet<string>>): Promise<readonly string[]> {
    await this.#record.load();
    const { uid, namespace } = pod.metadata;
    const ids = [...requests].flatMap(([name, names]) => {
      const info = this.#claim(pod, name);
      if (info?.podUids.has(uid)) return cdiDeviceIds(info, names);
      const message = `internal error: unable to get claim info for ResourceClaim ${name} in namespace ${namespace}`;
      throw new DraError('NotPrepared', message);
    });
    return [...new Set(ids)];
  }

  async #timed(
    { metadata: { uid: podUid } }: Pod,
    step: 'prepare' | 'unprepare',
    work: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const operation_name = step === 'prepare' ? 'PrepareResources' : 'UnprepareResources';
    const startedMs = this.#clock.monotonic();
    const observe = (is_error: 'true' | 'false'): void =>
      this.#metrics.operationSeconds.observe(
        { operation_name, is_error },
        (this.#clock.monotonic() - startedMs) / 1000,
      );
    try {
      await this.#noted({ podUid, step }, work, signal);
      observe('false');
    } catch (cause) {
      observe('true');
      signal.throwIfAborted();
      if (!DraError.is(cause)) throw cause;
      throw new DraError(cause.code, `${step} dynamic resources: ${cause.message}`, { cause });
    }
  }

  /**
   * Unprepares the claims of removed pods. Each pod is handled independently, so that a driver that hangs delays no
   * other pod.
   */
  async #reconcile(signal: AbortSignal): Promise<void> {
    // If the checkpoint could not be read at the start, only this call reads it again on a node to which no further pods
    // with claims come.
    await this.#load();
    const { pods, onUnprepared } = this.#components;
    const holders = this.#cache.podUids();
    if (holders.length === 0 || !pods.sourcesReady()) return;
    const active = new Set(pods.active().map(({ metadata }) => metadata.uid));
    for (const uid of holders) {
      if (active.has(uid) || this.#reconciled.has(uid) || (pods.mayRun?.(uid) ?? false)) continue;
      this.#reconciled.add(uid);
      this.#unpreparer
        .unprepare(uid, signal)
        .then(
          () => onUnprepared?.(uid),
          (err: unknown) => {
            if (signal.aborted) return;
            const fields = { podUid: uid, reason: errorText(err) };
            this.#logger.info(fields, 'Unpreparing pod resources in reconcile loop failed, will retry');
          },
        )
        .finally(() => this.#reconciled.delete(uid));
    }
  }

  /** Reads the checkpoint, unless it was already read. An error was logged and needs no further handling. */
  async #load(): Promise<void> {
    await this.#record.load().catch(() => {});
  }

  #healthChanged(driver: string, devices: readonly HealthKey[]): void {
    const { onHealthChanged } = this.#components;
    const changed = new Set(devices.map(deviceKey));
    const podUids = new Set<string>();
    for (const { drivers, podUids: users } of this.#cache.all()) {
      if (drivers.get(driver)?.some((device) => changed.has(deviceKey(device)))) {
        for (const uid of users) podUids.add(uid);
      }
    }
    if (podUids.size > 0) onHealthChanged?.([...podUids]);
  }
}
