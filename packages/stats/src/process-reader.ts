import type { Detail, ProcessFigures } from './group-figures.ts';
import type { GroupTexts } from './group-files.ts';
import type { KernelReads } from './kernel-reads.ts';
import { count, type InterfaceFigures, limit, netDev } from './kernel-text.ts';

/**
 * Maximum number of file descriptors that are read per collection, because each costs a system call and a container may
 * have a million. Each process counts as one more. If the maximum is exceeded, the counts of the remaining cgroups are
 * omitted.
 */
const BUDGET = 20_000;
/** Number of slots above which the file descriptor table of a process is not read. */
const LARGE_TABLE = 65_536;

/** Reads kernel data of processes through their cgroup. */
export class ProcessReader {
  readonly #reads: KernelReads;
  #budget = BUDGET;

  constructor({ reads }: { readonly reads: KernelReads }) {
    this.#reads = reads;
  }

  /** Starts a collection with a new budget. */
  begin(): void {
    this.#budget = BUDGET;
  }

  async figures(texts: GroupTexts, detail: Detail): Promise<ProcessFigures | undefined> {
    const procs = texts.get('cgroup.procs');
    if (procs === undefined) return undefined;
    const pids = pidsOf(procs);
    const threads = count(texts.get('pids.current'));
    const maxThreads = limit(texts.get('pids.max'));
    return {
      processes: pids.length,
      ...(threads !== undefined && { threads }),
      ...(maxThreads !== undefined && { maxThreads }),
      ...(detail === 'full' && (await this.#files(pids))),
    };
  }

  /** Returns the network interfaces that a cgroup's processes see. */
  async network(texts: GroupTexts): Promise<readonly InterfaceFigures[] | undefined> {
    const pid = firstProcess(texts.get('cgroup.procs'));
    return pid === undefined ? undefined : await this.networkOf(pid);
  }

  async networkOf(pid: string): Promise<readonly InterfaceFigures[] | undefined> {
    return netDev(await this.#reads.textOrNone(`/proc/${pid}/net/dev`));
  }

  async #files(pids: readonly string[]): Promise<Pick<ProcessFigures, 'openFiles' | 'sockets' | 'maxOpenFiles'>> {
    const [first] = pids;
    if (first === undefined) return {};
    let openFiles: number | undefined = 0;
    let sockets: number | undefined = 0;
    for (const pid of pids) {
      const names: readonly string[] | undefined = openFiles === undefined ? undefined : await this.#descriptors(pid);
      if (names === undefined || openFiles === undefined) {
        openFiles = undefined;
        sockets = undefined;
        break;
      }
      openFiles += names.length;
      for (const name of names) if (await this.#isSocket(`/proc/${pid}/fd/${name}`)) sockets += 1;
    }
    const maxOpenFiles = softOpenFiles(await this.#reads.textOrNone(`/proc/${first}/limits`));
    return {
      ...(openFiles !== undefined && { openFiles }),
      ...(sockets !== undefined && { sockets }),
      ...(maxOpenFiles !== undefined && { maxOpenFiles }),
    };
  }

  /**
   * Returns the descriptors of a process; `undefined` if they exceed the remaining budget. A process that exits during
   * the read has none.
   */
  async #descriptors(pid: string): Promise<readonly string[] | undefined> {
    // The number of slots in the descriptor table is checked first, because reading each descriptor of a large table
    // takes long.
    const slots =
      count(/^FDSize:\s*(\d+)$/m.exec((await this.#reads.textOrNone(`/proc/${pid}/status`)) ?? '')?.[1]) ?? 0;
    this.#budget -= 1;
    if (this.#budget < 0 || slots > LARGE_TABLE) return undefined;
    try {
      const names = (await this.#reads.entries(`/proc/${pid}/fd`)).map(({ name }) => name);
      this.#budget -= names.length;
      return this.#budget < 0 ? undefined : names;
    } catch {
      return [];
    }
  }

  /** Returns whether a descriptor is a socket; false if it was closed. */
  async #isSocket(path: string): Promise<boolean> {
    await this.#reads.turn();
    try {
      return (await this.#reads.link(path)).startsWith('socket');
    } catch {
      return false;
    }
  }
}

/** Returns the process with the lowest id, which probably started first. @param procs text of `cgroup.procs` */
export function firstProcess(procs = ''): string | undefined {
  return pidsOf(procs).toSorted((one, other) => Number(one) - Number(other))[0];
}

/** Returns the ids in `cgroup.procs`, without id 0, which the kernel reports for a process of another PID namespace. */
function pidsOf(procs: string): readonly string[] {
  return procs.split('\n').filter((line) => /^[1-9]\d*$/.test(line));
}

function softOpenFiles(limits: string | undefined): number | undefined {
  const [, soft] = /^Max open files\s+(\S+)\s+\S+\s/m.exec(limits ?? '') ?? [];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : count(soft);
}
