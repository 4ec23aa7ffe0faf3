import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';

/**
 * Times at which the last shutdown began and ended, in ms since the epoch. `undefined` if the shutdown has not begun or
 * not ended.
 */
export interface ShutdownTimes {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/** File operations of the state file. */
export type StateFiles = Pick<FileSystem, 'open' | 'writeFileAtomic'>;

/** Name of the state file, as in upstream (`localStorageStateFile`). */
const NAME = 'graceful_node_shutdown_state';
/** Go's JSON encoding of an unset time. */
const NO_TIME = '0001-01-01T00:00:00Z';
const MAX_BYTES = 4096;

/**
 * File with the times of the last shutdown, in the kubelet's root directory (`pkg/kubelet/nodeshutdown/storage.go`).
 */
export class StateFile {
  readonly #fs: StateFiles;
  readonly #path: string;

  constructor(fs: StateFiles, directory: string) {
    this.#fs = fs;
    this.#path = `${directory}/${NAME}`;
  }

  /** Stores the times. @throws the file system's error */
  async store(times: ShutdownTimes): Promise<void> {
    const state = { startTime: textOf(times.startMs), endTime: textOf(times.endMs) };
    await this.#fs.writeFileAtomic(this.#path, JSON.stringify(state), { mode: 0o644 });
  }

  /**
   * Loads the times. There are none if no file exists, or if the file contains `null`, which Go reads in the same way.
   * @throws the file system's error; SyntaxError, naming the file, if the content is invalid
   */
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
      throw new SyntaxError(`${this.#path} must be JSON`, { cause });
    }
    throw new SyntaxError(`${this.#path} must be a JSON object`);
  }

  #msOf(time: unknown): number | undefined {
    if (time === undefined || time === null || time === NO_TIME) return undefined;
    const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    if (Number.isNaN(ms))
      throw new SyntaxError(`${this.#path} must contain valid times, not ${String(time).slice(0, 40)}`);
    return ms;
  }
}

function textOf(ms: number | undefined): string {
  return ms === undefined ? NO_TIME : new Date(ms).toISOString();
}
