import type { DbusError, DbusValue } from '@node-agent/dbus';
import { parseSystemdPath, systemdPath } from '../../src/names.ts';
import type { Systemd, UnitProperty } from '../../src/systemd/systemd.ts';
import type { FakeKernel } from '../kernel.ts';

/** A fake systemd over the cgroups of a fake kernel: slices have directories and are remembered. */
export class FakeSystemd implements Systemd {
  readonly units: Map<string, Map<string, DbusValue>> = new Map();
  readonly stopped: string[] = [];
  /** The error that the next call throws. */
  fails: (member: string, unit: string) => DbusError | undefined = () => undefined;
  readonly #kernel: FakeKernel;

  constructor(kernel: FakeKernel) {
    this.#kernel = kernel;
  }

  async version(): Promise<number> {
    return 257;
  }

  async startTransientUnit(name: string, properties: readonly UnitProperty[]): Promise<void> {
    this.#check('start', name);
    if (!this.units.has(name)) this.units.set(name, new Map(properties.map(([key, , value]) => [key, value])));
    // The slice is created in the hierarchies that systemd uses: on v1 its own and those of a few controllers.
    const mounts = this.#kernel.version === 2 ? [''] : ['/systemd', '/cpu', '/memory', '/pids'];
    for (const mount of mounts) await this.#kernel.fs.mkdir(`/sys/fs/cgroup${mount}${pathOf(name)}`);
  }

  async setUnitProperties(name: string, properties: readonly UnitProperty[]): Promise<void> {
    this.#check('set', name);
    const unit = this.units.get(name);
    if (unit === undefined) return;
    for (const [key, , value] of properties) unit.set(key, value);
  }

  async stopUnit(name: string): Promise<void> {
    this.#check('stop', name);
    this.stopped.push(name);
    this.units.delete(name);
    await this.#kernel.reap();
    // Children are removed first; cgroups that still contain processes stay.
    const mounts = this.#kernel.version === 2 ? [''] : ['/systemd', '/cpu', '/memory', '/pids'];
    for (const mount of mounts) {
      const own = `${mount}${pathOf(name)}`;
      for (const group of [...this.#kernel.groups(own).reverse(), own]) {
        await this.#kernel.fs.remove(`/sys/fs/cgroup${group}`).catch(() => undefined);
      }
    }
  }

  #check(member: string, unit: string): void {
    const failure = this.fails(member, unit);
    if (failure !== undefined) throw failure;
  }
}

function pathOf(unit: string): string {
  return systemdPath(parseSystemdPath(unit));
}
