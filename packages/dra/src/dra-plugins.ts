import { type Clock, untilAborted } from '@node-agent/async';
import type { GrpcTransport } from '@node-agent/grpc';
import type { Logger } from '@node-agent/telemetry';
import { DraPlugin } from './dra-plugin.ts';
import { chooseService } from './driver-services.ts';
import { DraError } from './errors.ts';
import type { RpcMetrics } from './metrics.ts';

/** Maximum number of plugins of one driver, and maximum number of drivers. A node has only few of both (W6). */
const MAX_PLUGINS = 16;
const MAX_DRIVERS = 256;

/** Dependencies of {@link DraPlugins}. */
export interface DraPluginsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly transport: GrpcTransport;
  readonly metrics: RpcMetrics;
  /** Called for each registered plugin; runs until the plugin is closed. */
  readonly follow: (plugin: DraPlugin) => Promise<void>;
  /** Called when a driver may have become available or unavailable. */
  readonly onUsable: (driver: string, isUsable: boolean) => void;
}

/**
 * The registered plugins of DRA drivers (`DRAPluginManager` in `pkg/kubelet/cm/dra/plugin`). A driver has several
 * plugins during a rolling update. Calls go to the newest plugin that is connected.
 */
export class DraPlugins {
  readonly #parts: DraPluginsParts;
  /** Plugins by driver, the newest last. */
  readonly #plugins = new Map<string, readonly DraPlugin[]>();

  constructor(parts: DraPluginsParts) {
    this.#parts = parts;
  }

  /** Closes all plugins when the signal is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    for (const plugin of [...this.#plugins.values()].flat()) plugin.close();
  }

  /** Returns why a plugin cannot be used, in upstream's words, or `undefined` if the plugin can be used. */
  validate(driver: string, endpoint: string, services: readonly string[]): string | undefined {
    const choice = chooseService(driver, endpoint, services);
    return 'problem' in choice ? choice.problem : undefined;
  }

  /** Adds a plugin and connects to it in the background. @throws Error in upstream's words */
  register(driver: string, endpoint: string, services: readonly string[]): void {
    const choice = chooseService(driver, endpoint, services);
    if ('problem' in choice) throw new Error(choice.problem);
    this.#makeRoom(driver, endpoint);
    const { clock, logger, transport, metrics, follow } = this.#parts;
    const onConnectivity = (): void => {
      logger.info({ driver, endpoint, isConnected: plugin.isConnected }, 'Connection changed');
      this.#tell(driver);
    };
    const plugin = new DraPlugin({ clock, transport, metrics, onConnectivity }, driver, endpoint, choice.service);
    this.#plugins.set(driver, [...(this.#plugins.get(driver) ?? []), plugin]);
    logger.info({ driver, endpoint, service: choice.service }, 'Registered DRA plugin');
    void plugin.stayConnected();
    void follow(plugin);
    this.#tell(driver);
  }

  /** Removes a plugin whose socket was removed. */
  deregister(driver: string, endpoint: string): void {
    const known = this.#plugins.get(driver) ?? [];
    const plugin = known.find((one) => one.endpoint === endpoint);
    if (plugin === undefined) return;
    const others = known.filter((one) => one !== plugin);
    if (others.length === 0) this.#plugins.delete(driver);
    else this.#plugins.set(driver, others);
    this.#parts.logger.info({ driver, endpoint, plugins: others.length }, 'Unregistered DRA plugin');
    plugin.close();
    this.#tell(driver);
  }

  /** Returns the plugin for a driver's calls. @throws DraError `DriverMissing` in upstream's words */
  get(driver: string): DraPlugin {
    const plugins = this.#plugins.get(driver) ?? [];
    const plugin = plugins.findLast(({ isConnected }) => isConnected) ?? plugins.at(-1);
    if (plugin === undefined) throw new DraError('DriverMissing', `DRA driver ${driver} is not registered`);
    return plugin;
  }

  /** Removes the metrics of a driver that has no plugins any more (K4). */
  forgetSeries(driver: string): void {
    if (!this.#plugins.has(driver)) this.#parts.metrics.forget(driver);
  }

  /**
   * Ensures that one more plugin may be registered. A driver that has the maximum number of plugins loses the oldest
   * disconnected one, because killed plugins leave their sockets behind. @throws Error if there is no room
   */
  #makeRoom(driver: string, endpoint: string): void {
    const others = this.#plugins.get(driver) ?? [];
    if (others.some((other) => other.endpoint === endpoint)) {
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${driver}`);
    }
    if (others.length === 0 && this.#plugins.size >= MAX_DRIVERS) {
      throw new Error(`the node has plugins of ${MAX_DRIVERS} DRA drivers, the maximum`);
    }
    if (others.length < MAX_PLUGINS) return;
    const oldest = others.find(({ isConnected }) => !isConnected);
    if (oldest === undefined) throw new Error(`DRA driver ${driver} has ${MAX_PLUGINS} plugins, the maximum`);
    this.deregister(driver, oldest.endpoint);
  }

  #tell(driver: string): void {
    const isUsable = this.#plugins.get(driver)?.some(({ isConnected }) => isConnected) ?? false;
    this.#parts.onUsable(driver, isUsable);
  }
}
