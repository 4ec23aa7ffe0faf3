import type { Clock } from '@node-agent/async';
import { errorCode, isMissing } from '@node-agent/host';
import { figuresV1 } from './figures-v1.ts';
import { figuresV2 } from './figures-v2.ts';
import type { Detail, GroupFigures } from './group-figures.ts';
import { type GroupFile, type GroupTexts, groupFiles } from './group-files.ts';
import type { KernelReads } from './kernel-reads.ts';
import { firstProcess, type ProcessReader } from './process-reader.ts';

/** Where the machine has its cgroups: what `readHierarchy` of cm-cgroups tells. */
export type CgroupTree =
  | { readonly version: 1; readonly mounts: ReadonlyMap<string, string> }
  | { readonly version: 2; readonly mount: string };

interface Components {
  readonly reads: KernelReads;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly processes: ProcessReader;
}

/** v1 has each directory of a group in every hierarchy; these have what is shown, the first that there is counts. */
const V1_LOOKED_AT = ['memory', 'cpuacct', 'cpu', 'pids'];

/** Reads what the kernel counts of groups. */
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

  /** The names of the groups right below one; none where it is not there. */
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
   * `undefined` where there is no such group any more, or none of its files can be read.
   * @param more `network`: of its processes, with a detail above `resource`; `age`: when it was made
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

  /** The process of a group that began first; `undefined` where none is in it itself. */
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

  /** A controller may be missing, a group may go while it is read, a list of processes may be too long: that is not known then. */
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

  /** A directory's own time changes with what is made in it: one of its files may be older (`GetSpec` of cAdvisor). */
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

/** What says something of this process, and nothing of the group. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

function joined(mount: string, path: string, name: string): string {
  const directory = path === '/' || path === '' ? mount : `${mount}${path}`;
  return name === '' ? directory : `${directory}/${name}`;
}
