import type { Clock } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { NetworkFacts } from './addresses.ts';
import type { DevicePluginResources } from './capacity.ts';
import { FactSource } from './fact-source.ts';
import type { MachineInfo } from './machine-info.ts';
import type { NodeImage } from './node-images.ts';
import type { PressureFacts } from './pressure.ts';
import type { ReadinessFacts } from './readiness.ts';
import type { RuntimeFeatures, RuntimeHandler } from './runtime-features.ts';
import type { NodeFacts } from './set-node-status.ts';
import type { RuntimeVersion } from './system-info.ts';

/** The sources of the node's status. Asynchronous sources may be slow or fail; then the previous value is used. */
export interface NodeFactSources {
  /** Returns data about the machine (`readMachineInfo`). Called at most once a minute. */
  machine(signal: AbortSignal): Promise<MachineInfo>;
  /** Returns the network of the host (`readNetworkFacts`). Called at most every 10 s. */
  network(signal: AbortSignal): Promise<NetworkFacts>;
  /** Returns the version of the runtime (CRI `Version`). Called at most once a minute. */
  runtimeVersion(signal: AbortSignal): Promise<RuntimeVersion>;
  /** Returns the images of the runtime (CRI `ListImages`). Called at most every 30 s. */
  images(signal: AbortSignal): Promise<readonly NodeImage[]>;
  /** Returns the size of the file system with the root directory. Called at most once a minute. */
  ephemeralStorageBytes?(signal: AbortSignal): Promise<number>;
  /**
   * Checks the runtime, so that `readiness` reports the runtime's state. Called repeatedly while the node starts, until
   * the node is ready.
   */
  checkRuntime?(signal: AbortSignal): Promise<void>;
  readiness(): ReadinessFacts;
  /** Returns the resources under pressure. Default: no pressure. */
  pressure?(): PressureFacts;
  devicePlugins?(): DevicePluginResources;
  runtimeHandlers?(): readonly RuntimeHandler[] | undefined;
  runtimeFeatures?(): RuntimeFeatures | undefined;
  /**
   * Returns the names of the volumes in use. Returns `undefined` until the volume manager knows which volumes are
   * mounted.
   */
  volumesInUse?(): readonly string[] | undefined;
}

const MINUTE_MS = 60_000;
/** Matches durations in Go's format, such as `3m0.5s`. */
const DURATIONS = /\b(?:\d+(?:\.\d+)?(?:h|ms|m|s))+\b/g;
const NO_PRESSURE: PressureFacts = { memory: false, disk: false, pid: false };

/** Collects the values of all sources in a limited time. */
export class NodeFactCollector {
  readonly #sources: NodeFactSources;
  readonly #machine: FactSource<MachineInfo>;
  readonly #network: FactSource<NetworkFacts>;
  readonly #runtimeVersion: FactSource<RuntimeVersion>;
  readonly #images: FactSource<readonly NodeImage[]>;
  readonly #storage: FactSource<number | undefined>;
  readonly #runtimeCheck: FactSource<void>;

  constructor(
    components: { readonly sources: NodeFactSources; readonly clock: Clock; readonly logger: Logger },
    options: { readonly patienceMs: number },
  ) {
    const { sources } = components;
    this.#sources = sources;
    const make = <T>(name: string, maxAgeMs: number, read: (signal: AbortSignal) => Promise<T>): FactSource<T> =>
      new FactSource(components, { name, maxAgeMs, read, patienceMs: options.patienceMs });
    this.#machine = make('machine', MINUTE_MS, (signal) => sources.machine(signal));
    this.#network = make('network', 10_000, (signal) => sources.network(signal));
    this.#runtimeVersion = make('runtimeVersion', MINUTE_MS, (signal) => sources.runtimeVersion(signal));
    this.#images = make('images', MINUTE_MS / 2, (signal) => sources.images(signal));
    this.#storage = make('ephemeralStorage', MINUTE_MS, async (signal) => sources.ephemeralStorageBytes?.(signal));
    this.#runtimeCheck = make('runtime', 0, async (signal) => sources.checkRuntime?.(signal));
  }

  /**
   * Returns the current values of all sources; values of slow or failing sources may be old or `undefined`. @throws the
   * signal's reason, or the error of a synchronous source
   */
  async collect(signal: AbortSignal): Promise<NodeFacts> {
    const [machine, network, runtimeVersion, images, ephemeralStorageBytes] = await Promise.all([
      this.#machine.current(signal),
      this.#network.current(signal),
      this.#runtimeVersion.current(signal),
      this.#images.current(signal),
      this.#storage.current(signal),
    ]);
    const { devicePlugins, runtimeHandlers, runtimeFeatures } = this.#sources;
    return {
      machine,
      network,
      runtimeVersion,
      images,
      ephemeralStorageBytes,
      devicePlugins: devicePlugins?.call(this.#sources),
      runtimeHandlers: runtimeHandlers?.call(this.#sources),
      runtimeFeatures: runtimeFeatures?.call(this.#sources),
      ...this.#changeable(),
    };
  }

  /** Checks the runtime. Returns in a limited time. */
  async checkRuntime(signal: AbortSignal): Promise<void> {
    await this.#runtimeCheck.current(signal);
  }

  /**
   * Returns a text of all values whose changes must be reported to the API server immediately. Durations in error texts
   * are removed, because a problem that merely continues is not a change.
   */
  fingerprint(): string {
    const { readiness, ...others } = this.#changeable();
    return JSON.stringify(others) + JSON.stringify(readiness).replace(DURATIONS, '');
  }

  /** Reports whether the node could be ready: no source of readiness reports an error. */
  ready(): boolean {
    const { runtimeErrors, networkErrors, storageErrors = [], shutdownErrors = [] } = this.#sources.readiness();
    return [runtimeErrors, networkErrors, storageErrors, shutdownErrors].every((errors) => errors.length === 0);
  }

  #changeable(): Pick<NodeFacts, 'pressure' | 'readiness' | 'volumesInUse'> {
    return {
      pressure: this.#sources.pressure?.() ?? NO_PRESSURE,
      readiness: this.#sources.readiness(),
      volumesInUse: this.#sources.volumesInUse?.(),
    };
  }
}
