import type { Gauge } from '@node-agent/telemetry';
import { type ClaimInfo, isPrepared } from './claim-info.ts';

/** Label value for claims of any driver (`DRAResourceClaimsInUseAnyDriver`). */
const ANY_DRIVER = '<any>';

/** Counts prepared claims by driver. A driver without claims has no series (K4). */
export class ClaimsInUse {
  readonly #gauge: Gauge<'driver_name'>;
  readonly #counts = new Map<string, number>();

  constructor(gauge: Gauge<'driver_name'>) {
    this.#gauge = gauge;
    gauge.set({ driver_name: ANY_DRIVER }, 0);
  }

  /** Updates the counts for the change of one claim. `undefined` stands for a claim that does not exist. */
  change(before: ClaimInfo | undefined, after: ClaimInfo | undefined): void {
    for (const driver of driversInUse(before)) this.#add(driver, -1);
    for (const driver of driversInUse(after)) this.#add(driver, 1);
  }

  #add(driver: string, by: number): void {
    const count = (this.#counts.get(driver) ?? 0) + by;
    const labels = { driver_name: driver };
    if (count === 0 && driver !== ANY_DRIVER) {
      this.#counts.delete(driver);
      this.#gauge.remove?.(labels);
      return;
    }
    this.#counts.set(driver, count);
    this.#gauge.set(labels, count);
  }
}

/**
 * Returns the labels under which a claim counts as in use. A claim from the checkpoint counts if each of its drivers
 * has devices, because its pod may be running. Upstream counts such a claim only after the drivers were called again.
 */
function driversInUse(info: ClaimInfo | undefined): readonly string[] {
  if (info === undefined) return [];
  const hasDevices = info.drivers.size > 0 && [...info.drivers.values()].every((devices) => devices.length > 0);
  return isPrepared(info) || hasDevices ? [ANY_DRIVER, ...info.drivers.keys()] : [];
}
