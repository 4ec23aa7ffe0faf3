import type { Clock } from '@node-agent/async';
import { errorCode, isMissing } from '@node-agent/host';
import { figuresV1 } from './figures-v1.ts';
import { figuresV2 } from './figures-v2.ts';
import type { Detail, GroupFigures } from './group-figures.ts';
import { type GroupFile, type GroupTexts, groupFiles } from './group-files.ts';
import type { KernelReads } from './kernel-reads.ts';
import { firstProcess, type ProcessReader } from './process-reader.ts';

/** The machine's cgroup mounts, as returned by `readHierarchy` of cm-cgroups. */
export type CgroupTree =
  | { readonly version: 1; readonly mounts: ReadonlyMap<string, string> }
  | { readonly version: 2; readonly mount: string };

interface Components {
  readonly reads: KernelReads;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly processes: ProcessReader;
}

/**
 * Controllers whose hierarchies are used to list cgroups on v1, where each hierarchy has its own directories; the first
 * available one is used.
 */
const V1_LOOKED_AT = ['memory', 'cpuacct', 'cpu', 'pids'];

/** Reads the kernel's counters of cgroups. */
export class GroupReader {
  readonly tree: CgroupTree;
  readonly #reads: KernelReads;
  readonly #clock: Components['clock'];
  readonly #processes: ProcessReader;

  constructor({ reads, clock, processes }: Components, tree: CgroupTree) {
    this.tree = tree;
    this.#reads = reads;
    this.#clock = clock;
    this.#processes = processes;
  }

  /** Returns the names of a cgroup's direct children; empty if it does not exist. */
  async children(path: string): Promise<readonly string[]> {
    const directory = this.#directory(path);
    if (directory === undefined) return [];
    try {
      return (await this.#reads.entries(directory)).filter(({ kind }) => kind === 'directory').map(({ name }) => name);
    } catch (err) {
      if (isMissing(err) || errorCode(err) === 'ENODEV') return [];
      throw err;
    }
  }

  /**
   * Reads a cgroup. Returns `undefined` if it no longer exists or none of its files can be read.
   * @param more `network`: also read the interfaces of its processes, with a detail above `resource`; `age`: also read
   * its creation time
   */
  async read(
    path: string,
    detail: Detail,
    { network = false, age = detail === 'full' }: { readonly network?: boolean; readonly age?: boolean } = {},
  ): Promise<GroupFigures | undefined> {
    const [atMs, monotonicMs] = [this.#clock.now(), this.#clock.monotonic()];
    const texts = await this.#texts(path, detail);
    await this.#reads.turn();
    const figures = this.tree.version === 1 ? figuresV1(texts) : figuresV2(texts);
    if (figures.cpu === undefined && figures.memory === undefined) return undefined;
    const processes = await this.#processes.figures(texts, detail);
    const interfaces = network ? await this.#processes.network(texts) : undefined;
    const createdAtMs = age ? await this.#createdAtMs(path) : undefined;
    return {
      ...{ path, atMs, monotonicMs, ...figures },
      ...(processes && { processes }),
      ...(interfaces && { network: interfaces }),
      ...(createdAtMs !== undefined && { createdAtMs }),
    };
  }

  /** Returns the first process of a cgroup; `undefined` if the cgroup itself has no processes. */
  async firstProcess(path: string): Promise<string | undefined> {
    return firstProcess(await this.#text(path, PROCESSES));
  }

  async #texts(path: string, detail: Detail): Promise<GroupTexts> {
    const texts = new Map<string, string>();
    for (const file of groupFiles(this.tree.version, detail)) {
      const text = await this.#text(path, file);
      if (text !== undefined) texts.set(file.name, text);
    }
    return texts;
  }

  /**
   * Reads a file. Returns `undefined` if the controller is missing, the cgroup disappears, or the process list is too
   * long.
   */
  async #text(path: string, { controller, name }: GroupFile): Promise<string | undefined> {
    const mount = this.#mount(controller);
    if (mount === undefined) return undefined;
    try {
      return await this.#reads.text(joined(mount, path, name));
    } catch (err) {
      if (EXHAUSTED.has(errorCode(err) ?? '')) throw err;
      return undefined;
    }
  }

  /**
   * Returns the creation time of a cgroup: the earlier one of the modification times of its directory and of one of its
   * files. The directory's time changes with its content (`GetSpec` of cAdvisor).
   */
  async #createdAtMs(path: string): Promise<number | undefined> {
    const directory = this.#directory(path);
    if (directory === undefined) return undefined;
    const steady = this.tree.version === 1 ? 'cgroup.clone_children' : 'cgroup.events';
    const times = await Promise.all(
      [directory, joined(directory, '', steady)].map((at) =>
        this.#reads.modifiedAtMs(at).catch(() => Number.POSITIVE_INFINITY),
      ),
    );
    const first = Math.min(...times);
    return Number.isFinite(first) ? first : undefined;
  }

  #mount(controller: string): string | undefined {
    return this.tree.version === 1 ? this.tree.mounts.get(controller) : this.tree.mount;
  }

  #directory(path: string): string | undefined {
    const { tree } = this;
    if (tree.version === 2) return joined(tree.mount, path, '');
    const mount = V1_LOOKED_AT.map((controller) => tree.mounts.get(controller)).find((found) => found !== undefined);
    return mount === undefined ? undefined : joined(mount, path, '');
  }
}

const PROCESSES: GroupFile = { controller: 'cpu', name: 'cgroup.procs' };

/** Codes of errors that concern this process, not the cgroup. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

function joined(mount: string, path: string, name: string): string {
  const directory = path === '/' || path === '' ? mount : `${mount}${path}`;
  return name === '' ? directory : `${directory}/${name}`;
}
