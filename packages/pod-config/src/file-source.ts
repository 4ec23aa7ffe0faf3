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

/** How many manifests are read at once: each that is new is written to the disk as the last good one, which takes its time. */
const CONCURRENT_READS = 8;

/** What {@link FileSource} works with. */
export interface FileSourceComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'lstat' | 'readdir' | 'open' | 'watch'>;
  /**
   * Looks at what a link leads to before it is read (`nodeForeignFiles` of `@node-agent/host`); without it each manifest on a file system that does
   * not answer holds one of the process's few threads for files.
   */
  readonly foreign?: Pick<ForeignFiles, 'statfs'>;
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Silent where absent. */
  readonly logger?: Logger;
  /** What a pod is; the v1 Pod of `@node-agent/pod-spec` by default. */
  readonly schema?: PodSchema;
  /** Reads manifests of more than 32 KiB, unless there is a schema; in a worker thread by default. */
  readonly readApart?: ReadApart;
  /** Takes all pods whenever they changed: `podConfig.addSource('file')`. */
  readonly set: SetPods;
  /** Where good manifests are kept for the next start; without it a manifest that is broken then has no pods. */
  readonly lastGood?: LastGoodStore;
}

export interface FileSourceOptions {
  /** A directory of manifests, or one manifest (`staticPodPath`). Its pods' UIDs depend on this very path. */
  readonly path: string;
  readonly nodeName: string;
  /** How often everything is read again, changed or not (`fileCheckFrequency`): 20 s by default. */
  readonly periodMs?: number;
  /** How long after a hint of change a look is taken, so that a file is written to its end by then: 10 ms by default. */
  readonly settleMs?: number;
  /** The largest manifest that is read: 1 MiB by default (upstream: 10 MiB). */
  readonly limitBytes?: number;
}

const DEFAULTS = { periodMs: 20_000, settleMs: 10, limitBytes: 1 << 20 };
/** How long until a watch that ended is tried again (`file_linux.go`). */
const WATCH_RETRY_MS = 1000;
/** How long one manifest is waited for: a link may lead to a file system that does not answer. */
const ANSWER_MS = 10_000;
const NO_ANSWER = 'does not answer';

/**
 * The pods of a directory of manifests, or of one (`pkg/kubelet/config/file.go`): read at once, on each hint of the
 * file system, and once a period. Names that begin with a dot and subdirectories are passed over.
 *
 * Other than upstream, a manifest that cannot be read, does not answer within 10 s, is broken or is empty keeps its last good pods (F2), and so does
 * a directory that vanishes, and with `lastGood` across restarts; a manifest that is removed takes its pods with it. A path that was never there has no
 * pods; one that is removed and made anew at once, of the same content even, has its pods removed and added, as each event is one to upstream. While a path cannot be looked at for any other reason, the source has not spoken (F1).
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
  /** Files that have not answered yet, by their whole paths, and `list` where the path itself has not: they are not asked again before (W6). */
  readonly #unanswered = new Set<string>();
  /** One has answered since the last look, and was remembered, though it may be gone by now. */
  #answeredLate = false;
  /** The names that hints named since the last look; `all` after a hint without a name. */
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

  /** What is wrong at present: with the path, with manifests in it, among them. */
  get problems(): readonly ManifestProblem[] {
    return this.#log.problems;
  }

  /** Looks and watches until `signal` is aborted. */
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
      // Hints that keep coming do not put off the look at everything.
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
      // A file is watched through its directory: editors and atomic writers put another file in its place.
      const directory = this.#isDirectory || (await isDirectory(fs, path)) ? path : dirname(path);
      const onChange: OnChange = (name, what) => this.#hint(directory === path ? name : undefined, name, what);
      using link = linkAbort(signal);
      this.#watched = { directory, link };
      try {
        await fs.watch(directory, onChange, link.signal);
      } catch (error) {
        logger.debug({ err: error, path: directory }, 'Manifests are not watched for now');
        this.#hint(undefined);
        await ignoreAbort(sleep(clock, WATCH_RETRY_MS, signal));
      }
    }
  }

  /** @param only where given, the name in the directory of a single manifest that changed */
  #hint(name: string | undefined, only?: string, what?: Hint): void {
    if (name?.startsWith('.')) return;
    if (name === undefined && only !== undefined && only !== basename(this.#options.path)) return;
    if (only !== undefined) this.#remade.hint(only, what);
    if (name === undefined) this.#changed = 'all';
    else if (this.#changed !== 'all') this.#changed.add(name);
    this.#wakeUp.call();
  }

  /** Takes away the pods of files that were removed, though files of their names are there by now: those are others. */
  async #forget(names: ReadonlySet<string>): Promise<void> {
    const remade = [...this.#files.keys()].filter((file) => names.has(basename(file)));
    if (remade.length === 0) return;
    this.#files = new Map([...this.#files].filter(([file]) => !remade.includes(file)));
    await this.#memory.retain([...this.#files.keys()]);
    this.#told = mergeManifests(this.#files).pods;
    this.#components.set(this.#told);
  }

  /** One that does not answer is as it was, holds up no other, and is read again once it has answered. */
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

  /** @returns `undefined` where there is none in time; what has not answered is not asked again before it has, of which `onLate` is told */
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
      // One that was not there, or could not be looked at, when the watch began: its changes would be seen once a period only.
      const directory = listing.isDirectory ? path : dirname(path);
      if (this.#watched !== undefined && this.#watched.directory !== directory) {
        this.#watched.link.abort();
        // What happens before the new watch has begun.
        this.#hint(undefined);
      }
      const files = new Map<string, FileVersion>();
      const turns = new Semaphore(CONCURRENT_READS);
      const versions = await Promise.all(
        listing.files.map(async (file) => {
          const known = this.#files.get(file);
          // One that could not be read is tried again: it may take its name from another, or keep it.
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
      // What was hinted of is still to be read.
      this.#changed = 'all';
    }
    const merged = mergeManifests(this.#files);
    const ofPath = listing.problem === undefined ? [] : [{ source: path, message: listing.problem }];
    this.#log.update([...ofPath, ...merged.problems]);
    // A path that was never there says that there are no pods; one that cannot be looked at says nothing (F1).
    const silent = this.#told === undefined && listing.problem !== undefined && !listing.isMissing;
    if (silent || (this.#told !== undefined && sameList(this.#told, merged.pods))) return;
    this.#told = merged.pods;
    this.#components.set(merged.pods);
  }
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/** A sleep that a signal ends is no error here: the loops look at the signal themselves. */
async function ignoreAbort(sleeping: Promise<void>): Promise<void> {
  await sleeping.catch(() => {});
}
