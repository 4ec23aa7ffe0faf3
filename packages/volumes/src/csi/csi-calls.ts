import type { Clock } from '@node-agent/async';
import type { CsiDriverClient, CsiDrivers } from '@node-agent/contracts';
import { errorText } from '@node-agent/telemetry';
import { type OperationEffect, VolumeError } from '../errors.ts';
import type { UnansweredCall } from '../manager/plugin.ts';
import { CSI_PLUGIN } from './csi-names.ts';

/** Dependencies of {@link CsiCalls}. */
export interface CsiCallsComponents {
  readonly drivers: CsiDrivers;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Method of a driver's node service, for messages. */
export type CsiMethod =
  | 'NodeGetCapabilities'
  | 'NodeStageVolume'
  | 'NodeUnstageVolume'
  | 'NodePublishVolume'
  | 'NodeUnpublishVolume'
  | 'NodeExpandVolume'
  | 'NodeGetVolumeStats';

/**
 * Calls CSI drivers and records calls without a response, so that a user can see which driver delays a pod. No lock is
 * shared between volumes: a driver that hangs delays only its own volumes (W6).
 */
export class CsiCalls {
  readonly #components: CsiCallsComponents;
  readonly #unanswered = new Map<string, UnansweredCall>();

  constructor(components: CsiCallsComponents) {
    this.#components = components;
  }

  /**
   * Returns the client of a driver. @param step operation, for the error message; omitted where upstream names none.
   * @throws VolumeError `DriverNotFound`, which leaves the volume unchanged, because the driver may be restarting
   */
  driver(name: string, step?: string): CsiDriverClient {
    const client = this.#components.drivers.driver(name);
    if (client !== undefined) return client;
    const why = `driver name ${name} not found in the list of registered CSI drivers`;
    const message = step === undefined ? why : `${CSI_PLUGIN}: ${step}: ${why}`;
    throw new VolumeError('DriverNotFound', message, undefined, { effect: 'unchanged' });
  }

  /**
   * Makes one call to a driver. @param key identifies the volume. @throws VolumeError `DriverFailed` with the driver's
   * own message; the signal's reason
   */
  async make<T>(
    key: string,
    { name }: Pick<CsiDriverClient, 'name'>,
    method: CsiMethod,
    call: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const unanswered = { what: `${method} of driver ${name}`, sinceMs: this.#components.clock.monotonic() };
    this.#unanswered.set(key, unanswered);
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      throw new VolumeError('DriverFailed', errorText(error), error, { effect: effectOf(method, error) });
    } finally {
      if (this.#unanswered.get(key) === unanswered) this.#unanswered.delete(key);
    }
  }

  /** Returns the call for a volume to which the driver has not responded; `undefined` if there is none. */
  unanswered(key: string): UnansweredCall | undefined {
    return this.#unanswered.get(key);
  }
}

/**
 * Returns the effect of a failed call on its volume. Only a driver's final error proves that the volume is not set up.
 */
function effectOf(method: CsiMethod, error: unknown): OperationEffect {
  if (method === 'NodeGetCapabilities') return 'unchanged';
  const isFinal = typeof error === 'object' && error !== null && 'isFinal' in error && error.isFinal === true;
  return isFinal ? 'none' : 'unknown';
}
