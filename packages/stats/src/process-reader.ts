import type { Detail, ProcessFigures } from './group-figures.ts';
import type { GroupTexts } from './group-files.ts';
import type { KernelFiles } from './group-reader.ts';
import { count, type InterfaceFigures, limit, netDev } from './kernel-text.ts';

/**
 * How many links of open files are looked at for one collection: each is a call of the kernel, and a process may have a
 * million of them. Beyond, the files are counted and the sockets among them are not told.
 */
const SOCKET_BUDGET = 20_000;

/** Reads what the kernel tells of processes, by way of the group that they are in. */
export class ProcessReader {
  readonly #fs: KernelFiles;
  #budget = SOCKET_BUDGET;

  constructor({ fs }: { readonly fs: KernelFiles }) {
    this.#fs = fs;
  }

  /** Begins a collection: with a budget of its own. */
  begin(): void {
    this.#budget = SOCKET_BUDGET;
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

  /** The interfaces that a group's processes see. */
  async network(texts: GroupTexts): Promise<readonly InterfaceFigures[] | undefined> {
    const [pid] = pidsOf(texts.get('cgroup.procs') ?? '');
    return pid === undefined ? undefined : await this.networkOf(pid);
  }

  async networkOf(pid: string): Promise<readonly InterfaceFigures[] | undefined> {
    return netDev(await this.#text(`/proc/${pid}/net/dev`));
  }

  async #files(pids: readonly string[]): Promise<Pick<ProcessFigures, 'openFiles' | 'sockets' | 'maxOpenFiles'>> {
    const [first] = pids;
    if (first === undefined) return {};
    let openFiles = 0;
    let sockets: number | undefined = 0;
    for (const pid of pids) {
      const names = await this.#descriptors(pid);
      openFiles += names.length;
      this.#budget -= names.length;
      if (this.#budget < 0) sockets = undefined;
      if (sockets === undefined) continue;
      const links = await Promise.all(
        names.map((name) => this.#fs.readlink(`/proc/${pid}/fd/${name}`).catch(() => '')),
      );
      sockets += links.filter((link) => link.startsWith('socket')).length;
    }
    const maxOpenFiles = softOpenFiles(await this.#text(`/proc/${first}/limits`));
    return {
      openFiles,
      ...(sockets !== undefined && { sockets }),
      ...(maxOpenFiles !== undefined && { maxOpenFiles }),
    };
  }

  /** Processes end while they are looked at. */
  async #descriptors(pid: string): Promise<readonly string[]> {
    try {
      return (await this.#fs.readdir(`/proc/${pid}/fd`)).map(({ name }) => name);
    } catch {
      return [];
    }
  }

  async #text(path: string): Promise<string | undefined> {
    try {
      return new TextDecoder().decode(await this.#fs.readFile(path));
    } catch {
      return undefined;
    }
  }
}

/** A process of another PID namespace has the number 0 here. */
function pidsOf(procs: string): readonly string[] {
  return procs.split('\n').filter((line) => /^[1-9]\d*$/.test(line));
}

function softOpenFiles(limits: string | undefined): number | undefined {
  const [, soft] = /^Max open files\s+(\S+)\s+\S+\s/m.exec(limits ?? '') ?? [];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : count(soft);
}
