import { checkComponents } from '@node-agent/async';
import { DbusError } from '@node-agent/dbus';
import type { CgroupGroups, CgroupManager } from './cgroup-manager.ts';
import { checkLimits } from './check-limits.ts';
import { CgroupError, type CgroupErrorCode } from './errors.ts';
import type { CgroupName } from './names.ts';
import type { GroupLimits, ResourceConfig } from './resource-config.ts';
import type { Systemd } from './systemd/systemd.ts';
import { resourceProperties, sliceProperties, withWholePercents } from './systemd/unit-properties.ts';

export interface CgroupsSystemdComponents {
  readonly systemd: Systemd;
  /** Manages the same cgroups through their files, with systemd's names. */
  readonly groups: CgroupGroups;
}

const ROOT_SLICE = '-.slice';

/**
 * Manages cgroups as systemd slices. systemd creates the directories, and rewrites the properties that it knows
 * whenever it reloads. Limits without a systemd property are written into the files afterwards (`systemd/v1.go` and
 * `v2.go` of opencontainers/cgroups).
 */
export class CgroupsSystemd implements CgroupManager {
  readonly version: 1 | 2;
  readonly #systemd: Systemd;
  readonly #groups: CgroupGroups;

  constructor(components: CgroupsSystemdComponents) {
    checkComponents('CgroupsSystemd', components, {
      systemd: ['version', 'startTransientUnit', 'setUnitProperties', 'stopUnit'],
      groups: [
        'make',
        'directories',
        'empty',
        'path',
        'parse',
        'exists',
        'missing',
        'create',
        'update',
        'read',
        'destroy',
        'children',
      ],
    });
    const { systemd, groups } = components;
    this.version = groups.version;
    this.#systemd = systemd;
    this.#groups = groups;
  }

  path(name: CgroupName): string {
    return this.#groups.path(name);
  }

  parse(path: string): CgroupName {
    return this.#groups.parse(path);
  }

  async exists(name: CgroupName): Promise<boolean> {
    return await this.#groups.exists(name);
  }

  async missing(name: CgroupName): Promise<readonly string[]> {
    return await this.#groups.missing(name);
  }

  async identity(name: CgroupName): Promise<string | undefined> {
    return await this.#groups.identity?.(name);
  }

  async unset(name: CgroupName, config: ResourceConfig): Promise<ResourceConfig> {
    return (await this.#groups.unset?.(name, withWholePercents(config))) ?? config;
  }

  async read(name: CgroupName): Promise<GroupLimits> {
    return await this.#groups.read(name);
  }

  async children(name: CgroupName): Promise<readonly string[]> {
    return await this.#groups.children(name);
  }

  async create(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    await this.#start(name);
    // systemd creates the cgroup only in the hierarchies that it uses, and delegates only the controllers that a unit
    // requests.
    await this.#groups.make(name);
    await this.update(name, config);
  }

  async update(name: CgroupName, config: ResourceConfig): Promise<void> {
    checkLimits(config);
    const held = withWholePercents(config);
    const refused = await this.#setProperties(name, held);
    await this.#groups.update(name, held);
    if (refused !== undefined) throw refused;
  }

  /** Processes are killed first: systemd would send them SIGTERM and wait 90 s for those that do not exit. */
  async destroy(name: CgroupName, signal: AbortSignal): Promise<void> {
    await this.#groups.empty(name, signal);
    try {
      await this.#systemd.stopUnit(this.#unit(name), signal);
    } catch (err) {
      if (signal.aborted) throw err;
      throw systemdError(err, 'NotRemoved', `failed to stop ${this.#unit(name)}`);
    }
    // systemd does not remove directories that it did not create, and new processes may have been forked in the
    // meantime.
    await this.#groups.destroy(name, signal);
  }

  async #start(name: CgroupName): Promise<void> {
    const unit = this.#unit(name);
    const properties = sliceProperties(unit, this.#unit(name.slice(0, -1)), this.version);
    try {
      await this.#systemd.startTransientUnit(unit, properties);
    } catch (err) {
      throw systemdError(err, 'Systemd', `unable to start unit ${JSON.stringify(unit)}`);
    }
  }

  /**
   * Sets the limits as properties of the slice. @returns the error if systemd rejected properties; the limits must
   * still be written to the kernel
   */
  async #setProperties(name: CgroupName, config: ResourceConfig): Promise<CgroupError | undefined> {
    const unit = this.#unit(name);
    try {
      const properties = resourceProperties(config, this.version, await this.#systemd.version());
      if (properties.length > 0) await this.#systemd.setUnitProperties(unit, properties);
      return undefined;
    } catch (err) {
      const error = systemdError(err, 'Refused', `unable to set unit properties of ${unit}`);
      if (error.code === 'Refused') return error;
      throw error;
    }
  }

  #unit(name: CgroupName): string {
    const path = this.#groups.path(name);
    return name.length === 0 ? ROOT_SLICE : path.slice(path.lastIndexOf('/') + 1);
  }
}

/**
 * Wraps an error of systemd. @param refusal code for an error reply; all other errors mean that systemd could not be
 * reached
 */
function systemdError(err: unknown, refusal: CgroupErrorCode, what: string): CgroupError {
  if (CgroupError.is(err)) return err;
  const code = DbusError.is(err) && err.code === 'Remote' ? refusal : 'Systemd';
  const cause = err instanceof Error ? err.message : String(err);
  return new CgroupError(code, `${what}: ${cause}`, err);
}
