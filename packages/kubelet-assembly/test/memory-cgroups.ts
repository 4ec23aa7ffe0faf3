import {
  type CgroupManager,
  type CgroupName,
  cgroupfsPath,
  type GroupLimits,
  parseCgroupfsPath,
  type ResourceConfig,
} from '@node-agent/cm-cgroups';

/** In-memory cgroups by path, with their limits and recorded changes. */
export class MemoryCgroups implements CgroupManager {
  readonly version = 2;
  readonly groups: Map<string, ResourceConfig> = new Map([['/', {}]]);
  readonly destroyed: string[] = [];
  /** Each change in order: the path of the cgroup and its new values. */
  readonly changes: (readonly [string, ResourceConfig])[] = [];
  /**
   * Returns an error with which a change is rejected, or `undefined` to accept the change. Tests may replace this
   * function.
   */
  refuse: (path: string, config: ResourceConfig) => Error | undefined = () => undefined;

  has(path: string): boolean {
    return this.groups.has(path);
  }
  path(name: CgroupName): string {
    return cgroupfsPath(name);
  }
  parse(path: string): CgroupName {
    return parseCgroupfsPath(path);
  }
  async exists(name: CgroupName): Promise<boolean> {
    return this.groups.has(cgroupfsPath(name));
  }
  async missing(name: CgroupName): Promise<readonly string[]> {
    return (await this.exists(name)) ? [] : [cgroupfsPath(name)];
  }
  async create(name: CgroupName, config: ResourceConfig): Promise<void> {
    const path = cgroupfsPath(name);
    if (!this.groups.has(path)) this.groups.set(path, {});
    this.#set(path, config);
  }
  async update(name: CgroupName, config: ResourceConfig): Promise<void> {
    const path = cgroupfsPath(name);
    const error = this.refuse(path, config);
    if (error !== undefined) throw error;
    if (path.includes('/pod')) this.changes.push([path, config]);
    this.#set(path, config);
  }
  async read(name: CgroupName): Promise<GroupLimits> {
    const held = this.groups.get(cgroupfsPath(name));
    if (held === undefined) throw new Error(`no group ${cgroupfsPath(name)}`);
    const { cpuShares = 1024, cpuQuotaUs, cpuPeriodUs = 100_000, memoryBytes } = held;
    return {
      cpuShares,
      cpuQuotaUs: cpuQuotaUs || -1,
      cpuPeriodUs,
      memoryBytes: memoryBytes || -1,
      memoryUsageBytes: 0,
    };
  }
  async destroy(name: CgroupName): Promise<void> {
    if (this.groups.delete(cgroupfsPath(name))) this.destroyed.push(cgroupfsPath(name));
  }
  async children(name: CgroupName): Promise<readonly string[]> {
    const parent = `${cgroupfsPath(name)}/`;
    return [...this.groups.keys()].flatMap((path) => {
      const rest = path.startsWith(parent) ? path.slice(parent.length) : '/';
      return rest.includes('/') ? [] : [rest];
    });
  }

  #set(path: string, config: ResourceConfig): void {
    this.groups.set(path, { ...this.groups.get(path), ...config });
  }
}
