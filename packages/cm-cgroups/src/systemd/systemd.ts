import type { DbusValue } from '@node-agent/dbus';

/** One property of a unit: its name in systemd's words on D-Bus, the signature of its value, the value. */
export type UnitProperty = readonly [name: string, signature: string, value: DbusValue];

/** What is asked of systemd. A unit that is named is a slice. */
export interface Systemd {
  /** Its version, without what distributions add: 257. @throws DbusError */
  version(signal?: AbortSignal): Promise<number>;
  /**
   * Makes a unit that lives until it is stopped, or the machine is, and waits until it is started. One that is there and
   * runs stays as it is; one that is there and does not is started.
   * @throws DbusError
   */
  startTransientUnit(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /** Sets properties of a unit until it is stopped, or the machine is. @throws DbusError, `Remote` with `NoSuchUnit` among them */
  setUnitProperties(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /** Stops a unit and waits until it is; one that is not there is stopped. What is left of a failed one is forgotten. @throws DbusError */
  stopUnit(name: string, signal?: AbortSignal): Promise<void>;
}
