import { type Clock, sleep, type Timer } from '@node-agent/async';
import { GrpcError } from '@node-agent/grpc';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { DraPlugin } from './dra-plugin.ts';
import { decodeHealth, encodeHealth, type Now } from './health-format.ts';
import {
  type DriverHealth,
  dropExpired,
  type HealthKey,
  healthOf,
  mergeHealth,
  nextExpiryMs,
  type ReportedHealth,
} from './health-table.ts';
import { reportedHealth } from './reported-health.ts';

/** Dependencies of {@link DeviceHealths}. */
export interface DeviceHealthsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'writeFileAtomic'>;
  /** Called when the health of devices of a driver has changed. */
  readonly onChange: (driver: string, devices: readonly HealthKey[]) => void;
}

const FILE_NAME = 'dra_health_state';
const MAX_BYTES = 64 * 1024 * 1024;
/** Pause before a health stream that has ended is opened again, in milliseconds (`add` in `dra_plugin_manager.go`). */
const RETRY_MS = 5_000;
/**
 * Pause before a plugin without the health service is called again, in milliseconds. By then, another plugin may serve
 * the socket.
 */
const UNIMPLEMENTED_RETRY_MS = 300_000;
/**
 * Limits on the work for one plugin: the minimum pause between two messages, and the number of devices processed per
 * second (W6).
 */
const MIN_PAUSE_MS = 100;
const DEVICES_PER_SECOND = 100_000;
/** Minimum pause between two writes of the state file, in milliseconds. */
const WRITE_PAUSE_MS = 1_000;

/** Health of the devices of all drivers (`pkg/kubelet/cm/dra/healthinfo.go`, KEP-4680). */
export class DeviceHealths {
  readonly #parts: DeviceHealthsParts;
  readonly #path: string;
  readonly #directory: string;
  readonly #drivers = new Map<string, DriverHealth>();
  /** Plugins with an open health stream that has delivered a message, by driver. */
  readonly #streaming = new Map<string, Set<DraPlugin>>();
  readonly #expiries = new Map<string, Timer>();
  /** Resolves when the state file has been read, so that the reports of an earlier process replace no newer ones. */
  readonly #loaded = Promise.withResolvers<void>();
  #writing: Promise<void> | undefined;
  #isChanged = false;
  #ending: AbortSignal = new AbortController().signal;

  constructor(parts: DeviceHealthsParts, directory: string) {
    this.#parts = parts;
    this.#directory = directory;
    this.#path = `${directory}/${FILE_NAME}`;
  }

  /**
   * Reads the state file of an earlier process. If reading fails, the health of all devices is unknown, as in upstream.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#ending = signal;
    signal.addEventListener('abort', () => this.#cancelExpiries(), { once: true });
    try {
      const bytes = await readFileBounded(this.#parts.fs, this.#path, MAX_BYTES);
      const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      for (const [driver, devices] of decodeHealth(text, this.#now())) this.#set(driver, devices);
    } catch (err) {
      if (isMissing(err)) return;
      const fields = { path: this.#path, reason: errorText(err) };
      this.#parts.logger.error(fields, 'Failed to load health checkpoint, proceeding with empty cache');
    } finally {
      this.#loaded.resolve();
    }
  }

  /** Returns the health of a device. */
  of(driver: string, key: HealthKey): Pick<ReportedHealth, 'health' | 'message'> {
    return healthOf(this.#drivers.get(driver), key, this.#parts.clock.monotonic());
  }

  /** Follows the health stream of a plugin until the plugin is closed. */
  async follow(plugin: DraPlugin): Promise<void> {
    await this.#loaded.promise;
    while (!plugin.closed.aborted && !this.#ending.aborted) {
      const retryMs = await this.#followOnce(plugin);
      await sleep(this.#parts.clock, retryMs, plugin.closed).catch(() => {});
    }
  }

  /** Follows one health stream until its end. @returns the pause before the next stream is opened, in milliseconds */
  async #followOnce(plugin: DraPlugin): Promise<number> {
    const { clock, logger } = this.#parts;
    const { driver, endpoint, closed } = plugin;
    let isOpen = false;
    try {
      await plugin.connect();
      isOpen = true;
      for await (const devices of plugin.health()) {
        this.#heard(plugin, reportedHealth(devices));
        await sleep(clock, MIN_PAUSE_MS + (1000 * devices.length) / DEVICES_PER_SECOND, closed);
      }
      logger.debug({ driver, endpoint }, 'Health stream ended');
      return RETRY_MS;
    } catch (err) {
      const { code, message } = GrpcError.from(err);
      if (!closed.aborted) logger.debug({ driver, endpoint, reason: message }, 'Health stream failed');
      return code === 'UNIMPLEMENTED' ? UNIMPLEMENTED_RETRY_MS : RETRY_MS;
    } finally {
      // Without a connection there was no stream: the reports of an earlier process stay valid until their timeouts.
      if (isOpen) this.#ended(plugin);
    }
  }

  #heard(plugin: DraPlugin, reported: readonly ReportedHealth[]): void {
    const { driver } = plugin;
    const streaming = this.#streaming.get(driver) ?? new Set();
    this.#streaming.set(driver, streaming.add(plugin));
    const known = this.#drivers.get(driver) ?? new Map();
    const { next, changed } = mergeHealth(known, reported, this.#parts.clock.monotonic());
    this.#set(driver, next);
    this.#tell(driver, changed);
  }

  /**
   * Called when a plugin's stream has ended, also if the stream has delivered no message. Without any stream, the health
   * of the driver's devices becomes unknown. A plugin that replaces this one has a stream of its own.
   */
  #ended(plugin: DraPlugin): void {
    const { driver } = plugin;
    const streaming = this.#streaming.get(driver);
    streaming?.delete(plugin);
    if ((streaming?.size ?? 0) > 0 || this.#ending.aborted) return;
    this.#streaming.delete(driver);
    const known = this.#drivers.get(driver) ?? new Map();
    this.#set(driver, new Map());
    this.#tell(driver, [...known.values()]);
  }

  #set(driver: string, devices: DriverHealth): void {
    this.#expiries.get(driver)?.cancel();
    this.#expiries.delete(driver);
    if (devices.size === 0) this.#drivers.delete(driver);
    else this.#drivers.set(driver, devices);
    const expiryMs = nextExpiryMs(devices);
    if (expiryMs === undefined || this.#ending.aborted) return;
    const { clock } = this.#parts;
    // The timer fires one millisecond later, because a report is still valid at its timeout.
    const waitMs = Math.max(0, expiryMs - clock.monotonic()) + 1;
    this.#expiries.set(
      driver,
      clock.setTimer(waitMs, () => this.#expire(driver)),
    );
  }

  #expire(driver: string): void {
    const known = this.#drivers.get(driver) ?? new Map();
    const { next, changed } = dropExpired(known, this.#parts.clock.monotonic());
    this.#set(driver, next);
    this.#tell(driver, changed);
  }

  #tell(driver: string, changed: readonly HealthKey[]): void {
    if (changed.length === 0) return;
    this.#isChanged = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    this.#parts.onChange(driver, changed);
  }

  async #write(): Promise<void> {
    const { clock, fs, logger } = this.#parts;
    while (this.#isChanged && !this.#ending.aborted) {
      this.#isChanged = false;
      try {
        await fs.mkdir(this.#directory, { mode: 0o750 });
        await fs.writeFileAtomic(this.#path, encodeHealth(this.#drivers, this.#now()), { mode: 0o600 });
      } catch (err) {
        const fields = { path: this.#path, reason: errorText(err) };
        logger.error(fields, 'Failed to save health checkpoint after update');
      }
      await sleep(clock, WRITE_PAUSE_MS, this.#ending).catch(() => {});
    }
  }

  #cancelExpiries(): void {
    for (const timer of this.#expiries.values()) timer.cancel();
    this.#expiries.clear();
  }

  #now(): Now {
    const { clock } = this.#parts;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }
}
