import {
  type Clock,
  checkComponents,
  checkOptions,
  every,
  linkAbort,
  StartOnce,
  TaskGroup,
  untilAborted,
} from '@node-agent/async';
import type { CsiDriverClient, CsiDrivers } from '@node-agent/contracts';
import type { GrpcTransport } from '@node-agent/grpc';
import { LastingProblem, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { CsiNodeClient } from '../client/node-client.ts';
import type { CsiDriverNodeInfo } from '../client/responses.ts';
import { CsiError } from '../errors.ts';
import type { CsiNodeInfo } from '../node-info/csi-node-info.ts';
import { registrationVersion } from './registration-rule.ts';
import type { Version } from './version.ts';

/** Dependencies of a {@link CsiDriverRegistry}. */
export interface CsiDriverRegistryComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /** Default: unix sockets. */
  readonly transport?: GrpcTransport;
  /** Reports drivers in the API. If absent, drivers are not reported in the API. */
  readonly nodeInfo?: Pick<CsiNodeInfo, 'install' | 'update' | 'set'>;
  /**
   * Returns `CSIDriver.spec.nodeAllocatableUpdatePeriodSeconds` of a driver. If absent, or if it returns `undefined`,
   * the number of volumes that fit on the node is read at registration only.
   */
  readonly allocatableUpdatePeriodSeconds?: (driver: string) => number | undefined;
  /** Called after a driver was registered or deregistered. */
  readonly onDriverChanged?: (driver: string) => void;
}

/** Options of a {@link CsiDriverRegistry}. */
export interface CsiDriverRegistryOptions {
  /** Deadline of each call of a driver. Default: 120,000 (`csiTimeout`). */
  readonly timeoutMs?: number;
}

interface RegisteredDriver {
  readonly endpoint: string;
  readonly version: Version;
  readonly client: CsiNodeClient;
  readonly info: CsiDriverNodeInfo;
}

interface PeriodicUpdates {
  readonly seconds: number;
  readonly stop: AbortController;
}

/** Shortest period that the API server accepts. */
const MIN_PERIOD_SECONDS = 10;

/**
 * The CSI drivers of the node, and the handler that registers them (`pkg/volume/csi/csi_plugin.go:
 * RegistrationHandler`). The registry has the methods of a `PluginHandler` of `@node-agent/plugin-watcher`, for plugins
 * of the type `CSIPlugin`.
 */
export class CsiDriverRegistry implements CsiDrivers, Disposable {
  readonly #components: CsiDriverRegistryComponents & { readonly clock: Clock; readonly logger: Logger };
  readonly #options: CsiDriverRegistryOptions;
  readonly #drivers = new Map<string, RegisteredDriver>();
  readonly #updates = new Map<string, PeriodicUpdates>();
  readonly #startOnce = new StartOnce('CsiDriverRegistry');
  #running: TaskGroup | undefined;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: CsiDriverRegistryComponents, options: CsiDriverRegistryOptions = {}) {
    checkOptions('CsiDriverRegistry', options, { timeoutMs: 'notNegative?' });
    checkComponents('CsiDriverRegistry', components, {});
    this.#components = withDefaults({ ...{ clock: undefined, logger: undefined }, ...components });
    this.#options = options;
  }

  driver(name: string): CsiDriverClient | undefined {
    return this.#drivers.get(name)?.client;
  }

  /** Returns why a driver must not register, in upstream's words; `undefined` if it may. */
  validate(name: string, endpoint: string, versions: readonly string[]): string | undefined {
    const version = this.#version('ValidatePlugin', name, versions);
    if (typeof version !== 'string') return undefined;
    return `validation failed for CSI Driver ${name.slice(0, 100)} at endpoint ${endpoint}: ${version}`;
  }

  /**
   * Registers a driver: requests its information about the node, and reports the driver. A driver of the same name and
   * a lower version is replaced; a driver that fails to register replaces no other driver.
   * @throws CsiError; the signal's reason
   */
  async register(name: string, endpoint: string, versions: readonly string[], signal: AbortSignal): Promise<void> {
    this.#accepted(name, versions);
    const { clock, metrics, transport, nodeInfo } = this.#components;
    const client = new CsiNodeClient(
      { clock, ...(metrics && { metrics }), ...(transport && { transport }) },
      { ...this.#options, name, socketPath: endpoint },
    );
    try {
      const info = await client.nodeInfo(signal);
      await nodeInfo?.install(name, info, signal);
      // Another driver of this name may have registered during the calls.
      const version = this.#accepted(name, versions);
      this.#drivers.get(name)?.client.close();
      this.#drivers.set(name, { endpoint, version, client, info });
    } catch (error) {
      client.close();
      nodeInfo?.set(name, this.#drivers.get(name)?.info);
      throw error;
    }
    this.#changed(name);
  }

  /** Removes a driver. Does nothing if a driver at another socket has replaced this driver. */
  deregister(name: string, endpoint: string): void {
    const driver = this.#drivers.get(name);
    if (driver?.endpoint !== endpoint) return;
    this.#drivers.delete(name);
    driver.client.close();
    this.#components.nodeInfo?.set(name, undefined);
    this.#changed(name);
  }

  /**
   * Requests the volume limit from a driver again, and reports it. Used when attaching a volume has failed because the
   * node is full (`VerifyExhaustedResource`). Does nothing if the driver is not registered.
   * @throws CsiError if the driver fails; the error of the API server
   */
  async refresh(name: string, signal: AbortSignal): Promise<void> {
    const driver = this.#drivers.get(name);
    if (driver === undefined) return;
    const info = await driver.client.nodeInfo(signal);
    // The driver may have been replaced during the call.
    if (this.#drivers.get(name) !== driver) return;
    this.#drivers.set(name, { ...driver, info });
    await this.#components.nodeInfo?.update(name, info, signal);
  }

  /**
   * Starts, changes or stops the periodic updates of a driver's volume limit. Must be called when a CSIDriver object
   * was added, changed or deleted.
   */
  csiDriverChanged(name: string): void {
    this.#scheduleUpdates(name);
  }

  /** Updates the volume limit of each driver with the period of its CSIDriver object, until the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const group = new TaskGroup(signal);
    this.#running = group;
    group.add(untilAborted);
    for (const name of this.#drivers.keys()) this.#scheduleUpdates(name);
    await group.ended();
  }

  /** Closes the connections to all drivers. Calls in progress fail with `CANCELLED`, which is not final. */
  [Symbol.dispose](): void {
    for (const { client } of this.#drivers.values()) client.close();
  }

  #version(step: 'ValidatePlugin' | 'RegisterPlugin', name: string, versions: readonly string[]): Version | string {
    return registrationVersion({ step, name, versions }, this.#drivers.get(name)?.version);
  }

  #accepted(name: string, versions: readonly string[]): Version {
    const version = this.#version('RegisterPlugin', name, versions);
    if (typeof version !== 'string') return version;
    throw new CsiError(version, { code: 'Rejected', isFinal: true, driver: name, call: 'RegisterPlugin' });
  }

  #changed(name: string): void {
    this.#scheduleUpdates(name);
    this.#components.onDriverChanged?.(name);
  }

  /** Starts or stops the periodic updates of a driver's volume limit (`csi_node_updater.go: syncDriverUpdater`). */
  #scheduleUpdates(name: string): void {
    const running = this.#running;
    const wanted = this.#drivers.has(name) ? this.#components.allocatableUpdatePeriodSeconds?.(name) : undefined;
    const seconds = wanted !== undefined && wanted > 0 ? Math.max(wanted, MIN_PERIOD_SECONDS) : undefined;
    const present = this.#updates.get(name);
    if (running === undefined || present?.seconds === seconds) return;
    present?.stop.abort();
    this.#updates.delete(name);
    if (seconds === undefined) return;
    const stop = new AbortController();
    this.#updates.set(name, { seconds, stop });
    const { clock, logger } = this.#components;
    const problem = new LastingProblem(logger.child({ driver: name }), {
      ...{ failed: 'Failed to update the volume limit of a CSI driver', level: 'error' },
      over: 'Updated the volume limit of a CSI driver again',
    });
    running.add(async (ending) => {
      using link = linkAbort(ending, stop.signal);
      const round = (signal: AbortSignal): Promise<void> => this.#tryRefresh(name, problem, signal);
      await every(clock, seconds * 1000, round, link.signal, { immediate: false });
    });
  }

  async #tryRefresh(name: string, problem: LastingProblem, signal: AbortSignal): Promise<void> {
    try {
      await this.refresh(name, signal);
      problem.over();
    } catch (err) {
      if (!signal.aborted) problem.failed(err);
    }
  }
}
