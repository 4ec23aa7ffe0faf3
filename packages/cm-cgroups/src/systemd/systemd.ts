import type { DbusValue } from '@node-agent/dbus';

/** Property of a unit: name in systemd's D-Bus notation, signature of the value, value. */
export type UnitProperty = readonly [name: string, signature: string, value: DbusValue];

/** Port to systemd. All units are slices. */
export interface Systemd {
  /** Returns the version number, for example 257, without distribution suffixes. @throws DbusError */
  version(signal?: AbortSignal): Promise<number>;
  /**
   * Creates a unit that exists until it is stopped or the machine shuts down, and waits until it is started. A running
   * unit is not changed; an existing unit that is not running is started.
   * @throws DbusError
   */
  startTransientUnit(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /**
   * Sets properties of a unit until it is stopped or the machine shuts down. @throws DbusError, including `Remote` with
   * `NoSuchUnit`
   */
  setUnitProperties(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void>;
  /**
   * Stops a unit and waits until it has stopped; a missing unit counts as stopped. If the unit has failed, its failed
   * state is reset. @throws DbusError
   */
  stopUnit(name: string, signal?: AbortSignal): Promise<void>;
}
