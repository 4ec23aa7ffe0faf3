import type { CgroupManager, GroupLimits } from '@node-agent/cm-cgroups';

/** The kernel's values for a cgroup without limits. */
const UNLIMITED: GroupLimits = {
  cpuShares: 2,
  cpuQuotaUs: -1,
  cpuPeriodUs: 100_000,
  memoryBytes: -1,
  memoryUsageBytes: 0,
};
const POD_PREFIX = 'pod';

/** The cgroups of a machine, in memory. The cgroups survive the kubelet. */
export class MemoryCgroups implements CgroupManager {
  readonly version = 2;
  readonly #groups = new Map<string, Partial<GroupLimits>>([['/', {}]]);
  readonly #onRemoved: (podUid: string) => void;

  /** @param onRemoved called with the pod's UID before a pod's cgroup is removed */
  constructor(onRemoved: (podUid: string) => void = () => {}) {
    this.#onRemoved = onRemoved;
  }

  /** UIDs of the pods that have a cgroup. */
  get podUids(): readonly string[] {
    return [...this.#groups.keys()].flatMap((path) => podUidOfPath(path) ?? []);
  }

  /** Removes all cgroups, because the machine was off. */
  reboot(): void {
    this.#groups.clear();
    this.#groups.set('/', {});
  }

  path(name: readonly string[]): string {
    return `/${name.join('/')}`;
  }

  parse(path: string): readonly string[] {
    return path.split('/').filter((part) => part !== '');
  }

  async exists(name: readonly string[]): Promise<boolean> {
    return this.#groups.has(this.path(name));
  }

  async missing(name: readonly string[]): Promise<readonly string[]> {
    return this.#groups.has(this.path(name)) ? [] : [this.path(name)];
  }

  async create(name: readonly string[], config: object): Promise<void> {
    name.forEach((_part, index) => {
      const path = this.path(name.slice(0, index + 1));
      if (!this.#groups.has(path)) this.#groups.set(path, {});
    });
    await this.update(name, config);
  }

  async update(name: readonly string[], config: object): Promise<void> {
    this.#groups.set(this.path(name), { ...this.#groups.get(this.path(name)), ...config });
  }

  async read(name: readonly string[]): Promise<GroupLimits> {
    return { ...UNLIMITED, ...this.#groups.get(this.path(name)) };
  }

  async destroy(name: readonly string[]): Promise<void> {
    const path = this.path(name);
    const uid = this.#groups.has(path) ? podUidOfPath(path) : undefined;
    if (uid !== undefined) this.#onRemoved(uid);
    for (const other of [...this.#groups.keys()]) {
      if (other === path || other.startsWith(`${path}/`)) this.#groups.delete(other);
    }
  }

  async children(name: readonly string[]): Promise<readonly string[]> {
    const parent = name.length === 0 ? '/' : `${this.path(name)}/`;
    const below = [...this.#groups.keys()].filter((path) => path !== '/' && path.startsWith(parent));
    return below.map((path) => path.slice(parent.length)).filter((rest) => !rest.includes('/'));
  }
}

/** Returns the UID of the pod to which a cgroup path belongs. */
function podUidOfPath(path: string): string | undefined {
  const last = path.slice(path.lastIndexOf('/') + 1);
  return last.startsWith(POD_PREFIX) && !last.startsWith('pods') ? last.slice(POD_PREFIX.length) : undefined;
}
