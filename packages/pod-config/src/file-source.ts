import { basename, dirname } from 'node:path';
import {
  AsyncError,
  type Clock,
  checkComponents,
  checkOptions,
  type LinkedAbort,
  linkAbort,
  Semaphore,
  StartOnce,
  sleep,
  withTimeout,
} from '@node-agent/async';
import type { FileSystem, ForeignFiles, OnChange } from '@node-agent/host';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { type ManifestState, mergeManifests } from './last-good.ts';
import { LastGoodMemory } from './last-good-memory.ts';
import type { LastGoodStore } from './last-good-store.ts';
import {
  type FileVersion,
  isDirectory,
  listManifests,
  type ManifestListing,
  readManifestFile,
  unreadManifest,
} from './manifest-files.ts';
import { ManifestReader, type ReadApart } from './manifest-reader.ts';
import type { SetPods } from './pod-config.ts';
import type { PodSchema } from './pod-schema.ts';
import type { ManifestProblem } from './problem.ts';
import { ProblemLog } from './problem-log.ts';
import { type Hint, RemadeNames } from './remade-names.ts';
import { WakeUp } from './wake-up.ts';

/**
 * Number of manifests read at the same time. Each new manifest is also written to disk as the last good version, which
 * takes time.
 */
const CONCURRENT_READS = 8;

/** Components of a {@link FileSource}. */
export interface FileSourceComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'lstat' | 'readdir' | 'open' | 'watch'>;
  /**
   * Checks the target of a symlink before it is read (`nodeForeignFiles` of `@node-agent/host`). If absent, each
   * manifest on an unresponsive file system occupies one of the process's few file threads.
   */
  readonly foreign?: Pick<ForeignFiles, 'statfs'>;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Schema of pods. Default: the v1 Pod of `@node-agent/pod-spec`. */
  readonly schema?: PodSchema;
  /** Reads manifests above 32 KiB, unless `schema` is set. Default: a worker thread. */
  readonly readApart?: ReadApart;
  /** Receives all pods whenever they have changed: `podConfig.addSource('file')`. */
  readonly set: SetPods;
  /** Store of valid manifests for the next start. If absent, a manifest that is invalid at the start has no pods. */
  readonly lastGood?: LastGoodStore;
}

export interface FileSourceOptions {
  /** A directory of manifests, or a single manifest (`staticPodPath`). The UIDs of its pods depend on this path. */
  readonly path: string;
  readonly nodeName: string;
  /** Interval of reading everything again, changed or not (`fileCheckFrequency`). Default: 20 s. */
  readonly periodMs?: number;
  /**
   * Delay between a reported change and the read, so that the changed files are complete when they are read. Default:
   * 10 ms.
   */
  readonly settleMs?: number;
  /** Largest manifest that is read. Default: 1 MiB (upstream: 10 MiB). */
  readonly limitBytes?: number;
}

const DEFAULTS = { periodMs: 20_000, settleMs: 10, limitBytes: 1 << 20 };
/** Delay before a failed watch is retried (`file_linux.go`). */
const WATCH_RETRY_MS = 1000;
/** Time limit for one manifest, because a symlink may lead to an unresponsive file system. */
const ANSWER_MS = 10_000;
const NO_ANSWER = 'does not answer';

/**
 * The pods of a directory of manifests or of a single manifest (`pkg/kubelet/config/file.go`). The source reads
 * immediately, after each change that the file watch reports, and once per period. Names that start with a dot and
 * subdirectories are skipped.
 *
 * Unlike upstream, a manifest keeps its last valid pods if the manifest cannot be read, cannot be read within 10 s, is
 * invalid or is empty (F2). All pods of a directory that disappears are kept, too. With `lastGood`, the pods are kept
 * across restarts. Removing a manifest removes its pods.
 *
 * A path that never existed has no pods. If a file is removed and created again in quick succession, even with the same
 * content, its pods are removed and added, because upstream handles each of the two events. While a path cannot be read
 * for any other reason, the source is not ready (F1).
 */
export class FileSource {
  readonly #components: WithDefaults<FileSourceComponents>;
  readonly #options: FileSourceOptions & typeof DEFAULTS;
  readonly #log: ProblemLog;
  readonly #wakeUp: WakeUp;
  readonly #memory: LastGoodMemory;
  readonly #reader: ManifestReader;
  #files = new Map<string, FileVersion>();
  readonly #remade: RemadeNames;
  /**
   * Complete paths of files whose read hangs, and `list` if the listing of the path hangs. A file is not read again
   * until its read has completed (W6).
   */
  readonly #unanswered = new Set<string>();
  /**
   * Whether a late read has completed since the last pass. The read may have saved the content of a file that no longer
   * exists.
   */
  #answeredLate = false;
  /** Names of the files that the file watch has reported since the last pass; `all` after a report without a name. */
  #changed: Set<string> | 'all' = 'all';
  #isDirectory = false;
  #watched: { readonly directory: string; readonly link: LinkedAbort } | undefined;
  #told: ManifestState['pods'] | undefined;
  readonly #startOnce = new StartOnce('FileSource');

  constructor(given: FileSourceComponents, options: FileSourceOptions) {
    const asked = checkOptions('FileSource', options, {
      path: 'string',
      nodeName: 'string',
      periodMs: 'positive?',
      settleMs: 'notNegative?',
      limitBytes: 'limit?',
    });
    checkComponents('FileSource', given, { fs: ['open', 'readdir', 'watch', 'stat', 'lstat'], set: 'function' });
    const components = withDefaults(given);
    this.#components = components;
    this.#options = { ...DEFAULTS, ...asked, path: options.path.replace(/(?<=.)\/+$/, '') };
    this.#log = new ProblemLog(components.logger);
    this.#remade = new RemadeNames(components.clock);
    this.#wakeUp = new WakeUp(components.clock);
    this.#memory = new LastGoodMemory(components.lastGood, components.logger);
    this.#reader = new ManifestReader(components, components.schema, components.readApart);
  }

  /** Current problems of the path and of its manifests. */
  get problems(): readonly ManifestProblem[] {
    return this.#log.problems;
  }

  /** Reads and watches until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    await Promise.all([this.#lookUntil(signal), this.#watchUntil(signal)]);
  }

  async #lookUntil(signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const { periodMs, settleMs } = this.#options;
    let wholeAtMs = clock.monotonic();
    while (!signal.aborted) {
      this.#wakeUp.forget();
      // Continuous reports of changes must not postpone the periodic read of all files.
      if (clock.monotonic() >= wholeAtMs) this.#changed = 'all';
      const changed = this.#changed;
      if (changed === 'all') wholeAtMs = clock.monotonic() + periodMs;
      this.#changed = new Set();
      await this.#look(changed);
      const isHint = await this.#wakeUp.wait(Math.max(0, wholeAtMs - clock.monotonic()), signal);
      if (isHint && settleMs > 0) await ignoreAbort(sleep(clock, settleMs, signal));
    }
  }

  async #watchUntil(signal: AbortSignal): Promise<void> {
    const { fs, clock, logger } = this.#components;
    while (!signal.aborted) {
      const { path } = this.#options;
      // A single file is watched through its directory, because editors and atomic writers replace the file.
      const directory = this.#isDirectory || (await isDirectory(fs, path)) ? path : dirname(path);
      const onChange: OnChange = (name, what) => this.#hint(directory === path ? name : undefined, name, what);
      using link = linkAbort(signal);
      this.#watched = { directory, link };
      try {
        await fs.watch(directory, onChange, link.signal);
      } catch (error) {
        logger.debug({ err: error, path: directory }, 'Manifests are temporarily not watched');
        this.#hint(undefined);
        await ignoreAbort(sleep(clock, WATCH_RETRY_MS, signal));
      }
    }
  }

  /**
   * Records a change that the file watch reports.
   * @param only name that changed in the directory of a single manifest; absent for a directory of manifests
   */
  #hint(name: string | undefined, only?: string, what?: Hint): void {
    if (name?.startsWith('.')) return;
    if (name === undefined && only !== undefined && only !== basename(this.#options.path)) return;
    if (only !== undefined) this.#remade.hint(only, what);
    if (name === undefined) this.#changed = 'all';
    else if (this.#changed !== 'all') this.#changed.add(name);
    this.#wakeUp.call();
  }

  /**
   * Drops the pods of files that were removed, even if new files with the same names exist: those are different
   * manifests.
   */
  async #forget(names: ReadonlySet<string>): Promise<void> {
    const remade = [...this.#files.keys()].filter((file) => names.has(basename(file)));
    if (remade.length === 0) return;
    this.#files = new Map([...this.#files].filter(([file]) => !remade.includes(file)));
    await this.#memory.retain([...this.#files.keys()]);
    this.#told = mergeManifests(this.#files).pods;
    this.#components.set(this.#told);
  }

  /**
   * Reads a file. A file whose read hangs keeps its state, delays no other file, and is read again after the read has
   * completed.
   */
  async #read(file: string, known: FileVersion | undefined): Promise<FileVersion | undefined> {
    const { fs, foreign, logger } = this.#components;
    const { nodeName, limitBytes } = this.#options;
    const components = { fs, logger, reader: this.#reader, memory: this.#memory, ...(foreign && { foreign }) };
    const options = { path: file, nodeName, limitBytes };
    const onLate = (): void => {
      this.#answeredLate = true;
      this.#hint(basename(file));
    };
    const answer = await this.#answer(file, () => readManifestFile(components, options, known), onLate);
    return answer === undefined ? await unreadManifest(components, options, known, NO_ANSWER) : answer.value;
  }

  async #list(): Promise<ManifestListing> {
    const { fs } = this.#components;
    const { path } = this.#options;
    const list = (): Promise<ManifestListing> => listManifests(fs, path, this.#files.has(path));
    const answer = await this.#answer('list', list, () => this.#hint(undefined));
    return answer?.value ?? { problem: NO_ANSWER, isMissing: false };
  }

  /**
   * Waits for a file operation, up to `ANSWER_MS`.
   * @param onLate called when a late operation completes; until then the file is not read again
   * @returns `undefined` if the operation does not complete in time
   */
  async #answer<T>(of: string, ask: () => Promise<T>, onLate: () => void): Promise<{ readonly value: T } | undefined> {
    if (this.#unanswered.has(of)) return undefined;
    const asked = ask();
    try {
      return { value: await withTimeout(this.#components.clock, ANSWER_MS, () => asked) };
    } catch (error) {
      if (!AsyncError.is(error)) throw error;
      this.#unanswered.add(of);
      const answered = (): void => {
        this.#unanswered.delete(of);
        onLate();
      };
      asked.then(answered, answered);
      return undefined;
    }
  }

  async #look(changed: ReadonlySet<string> | 'all'): Promise<void> {
    const { path } = this.#options;
    await this.#memory.rememberUnsaved();
    await this.#forget(this.#remade.take());
    const listing = await this.#list();
    if (listing.problem === undefined) {
      this.#isDirectory = listing.isDirectory;
      // The directory did not exist or was not readable when the watch was started; its changes would be noticed only
      // once per period.
      const directory = listing.isDirectory ? path : dirname(path);
      if (this.#watched !== undefined && this.#watched.directory !== directory) {
        this.#watched.link.abort();
        // Covers changes before the new watch is established.
        this.#hint(undefined);
      }
      const files = new Map<string, FileVersion>();
      const turns = new Semaphore(CONCURRENT_READS);
      const versions = await Promise.all(
        listing.files.map(async (file) => {
          const known = this.#files.get(file);
          // A file that could not be read is read again at every pass, even if no change was reported. The file may
          // define a pod with the same name as a pod in another file; only one of the two may run.
          const unread = known?.bytes === undefined;
          const stale = unread || changed === 'all' || changed.has(basename(file));
          if (!stale) return known;
          using _turn = await turns.acquire();
          return await this.#read(file, known);
        }),
      );
      for (const [index, file] of listing.files.entries()) {
        const version = versions[index];
        if (version !== undefined) files.set(file, version);
      }
      const gone = this.#answeredLate || [...this.#files.keys()].some((file) => !files.has(file));
      this.#answeredLate = false;
      if (gone || this.#told === undefined) await this.#memory.retain([...files.keys()]);
      this.#reader.retain([...files.keys()]);
      this.#files = files;
    } else {
      // The reported changes could not be read, so the next pass reads all files.
      this.#changed = 'all';
    }
    const merged = mergeManifests(this.#files);
    const ofPath = listing.problem === undefined ? [] : [{ source: path, message: listing.problem }];
    this.#log.update([...ofPath, ...merged.problems]);
    // A path that never existed means that there are no pods. A path that cannot be read leaves the source not ready
    // (F1).
    const silent = this.#told === undefined && listing.problem !== undefined && !listing.isMissing;
    if (silent || (this.#told !== undefined && sameList(this.#told, merged.pods))) return;
    this.#told = merged.pods;
    this.#components.set(merged.pods);
  }
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** Ignores the abort of a sleep; the loops check the signal themselves. */
async function ignoreAbort(sleeping: Promise<void>): Promise<void> {
  await sleeping.catch(() => {});
}
