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

/** Whom the manager asks about the node. What is asynchronous may be slow or fail: the last answer serves then. */
export interface NodeFactSources {
  /** See `readMachineInfo`. Asked at most once a minute. */
  machine(signal: AbortSignal): Promise<MachineInfo>;
  /** Asked at most every 10 s. */
  network(signal: AbortSignal): Promise<NetworkFacts>;
  /** CRI `Version`. Asked at most once a minute. */
  runtimeVersion(signal: AbortSignal): Promise<RuntimeVersion>;
  /** CRI `ListImages`. Asked at most every 30 s. */
  images(signal: AbortSignal): Promise<readonly NodeImage[]>;
  /** The size of the file system with the root directory. Asked at most once a minute. */
  ephemeralStorageBytes?(signal: AbortSignal): Promise<number>;
  /** Asks the runtime for its health, so that `readiness` knows it: while the node starts, until it is ready. */
  checkRuntime?(signal: AbortSignal): Promise<void>;
  readiness(): ReadinessFacts;
  /** No pressure where absent. */
  pressure?(): PressureFacts;
  devicePlugins?(): DevicePluginResources;
  runtimeHandlers?(): readonly RuntimeHandler[] | undefined;
  runtimeFeatures?(): RuntimeFeatures | undefined;
  /** `undefined` until the volume manager knows what is mounted. */
  volumesInUse?(): readonly string[] | undefined;
}

const MINUTE_MS = 60_000;
/** As Go writes them: `3m0.5s`. */
const DURATIONS = /\b(?:\d+(?:\.\d+)?(?:h|ms|m|s))+\b/g;
const NO_PRESSURE: PressureFacts = { memory: false, disk: false, pid: false };

/** Brings together what the sources say, in a limited time. */
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

  /** All that is known. @throws the signal's reason, or what a source that has not to wait throws */
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

  /** Has the runtime asked for its health; comes back in a limited time. */
  async checkRuntime(signal: AbortSignal): Promise<void> {
    await this.#runtimeCheck.current(signal);
  }

  /**
   * A text that is another one as soon as something changed that the API server must hear of at once: that what is wrong goes on, for
   * as long as its words say, is no such thing.
   */
  fingerprint(): string {
    const { readiness, ...others } = this.#changeable();
    return JSON.stringify(others) + JSON.stringify(readiness).replace(DURATIONS, '');
  }

  /** Whether nothing keeps the node from being ready. */
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
