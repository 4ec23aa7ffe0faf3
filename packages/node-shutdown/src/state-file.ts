import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';

/** When the last shutdown began and ended, in ms since the epoch; `undefined`: not yet. */
export interface ShutdownTimes {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** What is done with the file. */
export type StateFiles = Pick<FileSystem, 'open' | 'writeFileAtomic'>;

/** `localStorageStateFile` of upstream. */
const NAME = 'graceful_node_shutdown_state';
/** What Go writes of a time that is not set. */
const NO_TIME = '0001-01-01T00:00:00Z';
const MAX_BYTES = 4096;

/** The times of the last shutdown, in the kubelet's directory (`pkg/kubelet/nodeshutdown/storage.go`). */
export class StateFile {
  readonly #fs: StateFiles;
  readonly #path: string;

  constructor(fs: StateFiles, directory: string) {
    this.#fs = fs;
    this.#path = `${directory}/${NAME}`;
  }

  /** @throws what the file system does */
  async store(times: ShutdownTimes): Promise<void> {
    const state = { startTime: textOf(times.startMs), endTime: textOf(times.endMs) };
    await this.#fs.writeFileAtomic(this.#path, JSON.stringify(state), { mode: 0o644 });
  }

  /** No times where nothing was stored, or `null` was, as Go reads it. @throws what the file system does; SyntaxError, naming the file, for what is no such state */
  async load(): Promise<ShutdownTimes> {
    let text: string;
    try {
      text = new TextDecoder().decode(await readFileBounded(this.#fs, this.#path, MAX_BYTES));
    } catch (err) {
      if (isMissing(err)) return { startMs: undefined, endMs: undefined };
      throw err;
    }
    const { startTime, endTime } = this.#parse(text);
    return { startMs: this.#msOf(startTime), endMs: this.#msOf(endTime) };
  }

  #parse(text: string): { readonly startTime?: unknown; readonly endTime?: unknown } {
    try {
      const state: unknown = JSON.parse(text);
      if (state === null) return {};
      if (typeof state === 'object' && !Array.isArray(state)) return state;
    } catch (cause) {
      throw new SyntaxError(`${this.#path} is no JSON`, { cause });
    }
    throw new SyntaxError(`${this.#path} is no JSON object`);
  }

  #msOf(time: unknown): number | undefined {
    if (time === undefined || time === null || time === NO_TIME) return undefined;
    const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    if (Number.isNaN(ms)) throw new SyntaxError(`${this.#path} has a time that is none: ${String(time).slice(0, 40)}`);
    return ms;
  }
}

function textOf(ms: number | undefined): string {
  return ms === undefined ? NO_TIME : new Date(ms).toISOString();
}
