import { posix } from 'node:path';
import type { Clock } from '@node-agent/async';
import { systemError } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { CgroupComponents } from '../src/manager-components.ts';

const V1_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cpu: { 'cpu.shares': '1024', 'cpu.cfs_period_us': '100000', 'cpu.cfs_quota_us': '-1' },
  cpuset: { 'cpuset.cpus': '', 'cpuset.mems': '' },
  memory: {
    'memory.limit_in_bytes': '9223372036854771712',
    'memory.usage_in_bytes': '4096',
    'memory.memsw.limit_in_bytes': '-1',
  },
  pids: { 'pids.max': 'max' },
  freezer: { 'freezer.state': 'THAWED' },
  hugetlb: { 'hugetlb.2MB.limit_in_bytes': '-1', 'hugetlb.1GB.limit_in_bytes': '-1' },
  systemd: {},
  devices: {},
};
const V2_FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  cpu: { 'cpu.weight': '100', 'cpu.max': 'max 100000' },
  cpuset: { 'cpuset.cpus': '' },
  memory: {
    'memory.max': 'max',
    'memory.current': '4096',
    'memory.swap.max': 'max',
    'memory.oom.group': '0',
    'memory.min': '0',
    'memory.low': '0',
  },
  pids: { 'pids.max': 'max' },
  hugetlb: { 'hugetlb.2MB.max': 'max', 'hugetlb.2MB.rsvd.max': 'max', 'hugetlb.1GB.max': 'max' },
};
const ROOT = '/sys/fs/cgroup';

/**
 * The kernel's cgroups as in-memory files: a new directory gets its files, a cgroup with processes or children
 * cannot be removed, no other file can be created, and killed processes exit.
 */
export class FakeKernel implements CgroupComponents {
  readonly memory: MemoryFileSystem;
  readonly clock: Clock;
  readonly version: 1 | 2;
  readonly writes: string[] = [];
  readonly killed: number[] = [];
  /** Processes that hang in the kernel and survive a kill. */
  readonly stuck: Set<number> = new Set();
  /** Makes the kernel refuse a value. */
  refuse: (path: string, value: string) => string | undefined = () => undefined;
  readonly #killFile: boolean;

  constructor(clock: Clock, version: 1 | 2, { killFile = true }: { readonly killFile?: boolean } = {}) {
    this.clock = clock;
    this.version = version;
    this.memory = new MemoryFileSystem({ clock });
    this.#killFile = killFile;
  }

  async boot(): Promise<void> {
    for (const size of ['2048kB', '1048576kB']) await this.memory.mkdir(`/sys/kernel/mm/hugepages/hugepages-${size}`);
    if (this.version === 2) {
      await this.memory.mkdir(ROOT);
      await this.memory.writeFile(`${ROOT}/cgroup.controllers`, 'cpuset cpu io memory hugetlb pids\n');
      await this.memory.writeFile(`${ROOT}/cgroup.subtree_control`, '\n');
      return;
    }
    const lines = ['31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755'];
    await this.memory.mkdir('/proc/self');
    for (const controller of Object.keys(V1_FILES)) {
      const name = controller === 'systemd' ? 'name=systemd' : controller;
      lines.push(`32 31 0:29 / ${ROOT}/${controller} rw,relatime - cgroup cgroup rw,${name}`);
      await this.#addGroup(`${ROOT}/${controller}`);
    }
    lines.push(`33 31 0:30 / ${ROOT}/unified rw,relatime - cgroup2 cgroup2 rw`);
    await this.#addGroup(`${ROOT}/unified`);
    await this.memory.writeFile(`${ROOT}/cpuset/cpuset.cpus`, '0-3\n');
    await this.memory.writeFile(`${ROOT}/cpuset/cpuset.mems`, '0\n');
    await this.memory.writeFile('/proc/self/mountinfo', `${lines.join('\n')}\n`);
  }

  async text(path: string): Promise<string> {
    return new TextDecoder().decode(await this.memory.readFile(`${ROOT}${path}`)).trim();
  }

  /** Adds processes to a cgroup. */
  async enter(path: string, ...pids: readonly number[]): Promise<void> {
    await this.memory.writeFile(`${ROOT}${path}/cgroup.procs`, pids.map((pid) => `${pid}\n`).join(''));
  }

  /** Returns the paths of a cgroup's descendants. */
  groups(path: string): string[] {
    return this.memory
      .paths()
      .filter((found) => found.startsWith(`${ROOT}${path}/`) && found.endsWith('/cgroup.procs'))
      .map((found) => posix.dirname(found).slice(ROOT.length))
      .filter((found) => found !== path)
      .sort();
  }

  readonly kill = (pid: number): void => {
    this.killed.push(pid);
  };

  /** Removes killed processes that do not hang. */
  async reap(): Promise<void> {
    for (const path of this.memory.paths().filter((found) => found.endsWith('/cgroup.procs'))) {
      const pids = new TextDecoder()
        .decode(await this.memory.readFile(path))
        .split('\n')
        .filter(Boolean)
        .map(Number);
      const left = pids.filter((pid) => !this.killed.includes(pid) || this.stuck.has(pid));
      await this.memory.writeFile(path, left.map((pid) => `${pid}\n`).join(''));
    }
  }

  readonly fs: CgroupComponents['fs'] = {
    readFile: (path) => this.memory.readFile(path),
    readdir: (path) => this.memory.readdir(path),
    exists: (path) => this.memory.exists(path),
    stat: (path) => this.memory.stat(path),
    mkdir: async (path) => {
      for (let end = ROOT.length; end !== -1; end = path.indexOf('/', end + 1)) {
        const part = end === ROOT.length ? ROOT : path.slice(0, end);
        if (!(await this.memory.exists(part))) await this.#addGroup(part);
      }
      if (!(await this.memory.exists(path))) await this.#addGroup(path);
    },
    writeFile: async (path, data) => {
      const value = String(data);
      if (!(await this.memory.exists(path))) throw systemError('EACCES', 'open', path);
      const code = this.refuse(path.slice(ROOT.length), value);
      if (code !== undefined) throw systemError(code, 'write', path);
      this.writes.push(`${path.slice(ROOT.length)}=${value}`);
      if (path.endsWith('/cgroup.kill')) return this.#killAll(posix.dirname(path));
      if (path.endsWith('/cgroup.subtree_control')) {
        const own = new TextDecoder().decode(await this.memory.readFile(path)).trim();
        const all = new Set([...own.split(' '), ...value.split(' ').map((word) => word.slice(1))].filter(Boolean));
        await this.memory.writeFile(path, `${[...all].join(' ')}\n`);
        return this.#passOn(posix.dirname(path));
      }
      return this.memory.writeFile(path, `${value}\n`);
    },
    remove: async (path) => {
      await this.reap();
      const entries = await this.memory.readdir(path);
      const procs = await this.memory.readFile(`${path}/cgroup.procs`);
      if (procs.length > 0 || entries.some(({ kind }) => kind === 'directory'))
        throw systemError('EBUSY', 'rmdir', path);
      await this.memory.removeAll(path);
    },
  };

  /**
   * Enables controllers in the children of a cgroup: existing cgroups get the files of a controller when their parent
   * enables it.
   */
  async #passOn(parent: string): Promise<void> {
    for (const { name, kind } of await this.memory.readdir(parent)) {
      if (kind !== 'directory') continue;
      const path = `${parent}/${name}`;
      const files = Object.entries(await this.#v2Files(path));
      await this.memory.writeFile(
        `${path}/cgroup.controllers`,
        files.find(([file]) => file === 'cgroup.controllers')?.[1] ?? '',
      );
      for (const [file, content] of files) {
        if (!(await this.memory.exists(`${path}/${file}`))) await this.memory.writeFile(`${path}/${file}`, content);
      }
    }
  }

  async #killAll(directory: string): Promise<void> {
    for (const path of this.memory.paths().filter((found) => found.startsWith(`${directory}/`))) {
      if (!path.endsWith('/cgroup.procs')) continue;
      const text = new TextDecoder().decode(await this.memory.readFile(path));
      this.killed.push(...text.split('\n').filter(Boolean).map(Number));
    }
  }

  async #addGroup(path: string): Promise<void> {
    const files = this.version === 2 ? await this.#v2Files(path) : (V1_FILES[path.split('/')[4] ?? ''] ?? {});
    await this.memory.mkdir(path);
    await this.memory.writeFile(`${path}/cgroup.procs`, '');
    for (const [name, content] of Object.entries(files)) await this.memory.writeFile(`${path}/${name}`, content);
  }

  async #v2Files(path: string): Promise<Readonly<Record<string, string>>> {
    const parent = await this.memory.readFile(`${posix.dirname(path)}/cgroup.subtree_control`);
    const controllers = new TextDecoder().decode(parent).trim().split(' ').filter(Boolean);
    return {
      'cgroup.type': 'domain\n',
      'cgroup.controllers': `${controllers.join(' ')}\n`,
      'cgroup.subtree_control': '\n',
      'cgroup.freeze': '0\n',
      ...(this.#killFile && { 'cgroup.kill': '' }),
      ...Object.assign({}, ...controllers.map((controller) => V2_FILES[controller] ?? {})),
    };
  }
}
