import { Backoff, type Clock, type LinkedAbort, linkAbort, type Random, sleep } from '@node-agent/async';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Port to the ResourceSlices of this node. */
export interface SliceRemoval {
  /**
   * Deletes the ResourceSlices of this node. @param driver deletes only the slices of this driver; `undefined`: of all
   * drivers
   */
  remove(driver: string | undefined, signal: AbortSignal): Promise<void>;
}

/** Dependencies of a {@link SliceRemover}. */
export interface SliceRemoverParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly slices: SliceRemoval;
  /**
   * Called when a driver has had no connected plugin for {@link DELAY_MS}, and again when its slices have been removed
   * while it still has none.
   */
  readonly onAway: (driver: string) => void;
}

/**
 * Time that a driver has to connect again before its slices are removed, so that its pod can be replaced
 * (`defaultWipingDelay`).
 */
const DELAY_MS = 30_000;
const BACK_OFF = { initialMs: 1_000, maxMs: 300_000, maxJitterFactor: 0.2 };

/**
 * Removes the ResourceSlices of drivers without a connected plugin, so that no pod is scheduled for their devices
 * (`wipeResourceSlices` in `pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go`).
 */
export class SliceRemover {
  readonly #parts: SliceRemoverParts;
  /**
   * Drivers without a connected plugin. The value cancels the removal of the driver's slices, which is waiting or in
   * progress.
   */
  readonly #away = new Map<string, LinkedAbort>();
  #ending: AbortSignal = new AbortController().signal;

  constructor(parts: SliceRemoverParts) {
    this.#parts = parts;
  }

  /** Removes the slices of all drivers, because no driver has registered yet when the kubelet starts. */
  start(signal: AbortSignal): void {
    this.#ending = signal;
    void this.#remove(undefined, signal);
  }

  /** Records whether a driver has a connected plugin. */
  usable(driver: string, isUsable: boolean): void {
    const removal = this.#away.get(driver);
    if (isUsable) {
      removal?.abort();
      removal?.[Symbol.dispose]();
      this.#away.delete(driver);
    } else if (removal === undefined && !this.#ending.aborted) {
      const stop = linkAbort(this.#ending);
      this.#away.set(driver, stop);
      void this.#removeLater(driver, stop);
    }
  }

  async #removeLater(driver: string, stop: LinkedAbort): Promise<void> {
    const { clock, logger, onAway } = this.#parts;
    try {
      await sleep(clock, DELAY_MS, stop.signal);
    } catch {
      return;
    }
    logger.info({ driver }, 'DRA driver has no connected plugin, removing its ResourceSlices');
    onAway(driver);
    await this.#remove(driver, stop.signal);
    if (this.#away.get(driver) !== stop) return;
    // The driver is still disconnected and publishes no new slices, so no further removal is needed.
    this.#away.delete(driver);
    stop[Symbol.dispose]();
    // The removal may have been retried for long. Meanwhile, the driver's last plugin may have been deregistered.
    onAway(driver);
  }

  /** Retries until the slices are removed or the signal is aborted. */
  async #remove(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, random, logger, slices } = this.#parts;
    const key = driver ?? '';
    const backOff = new Backoff({ clock, random }, BACK_OFF);
    while (!signal.aborted) {
      try {
        await slices.remove(driver, signal);
        return;
      } catch (err) {
        if (signal.aborted) return;
        logger.info({ driver, reason: errorText(err) }, 'Deleting ResourceSlices failed, retrying');
        backOff.next(key, clock.now());
        await sleep(clock, backOff.delayMs(key), signal).catch(() => {});
      }
    }
  }
}
