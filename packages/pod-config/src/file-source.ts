import { basename, dirname, join } from 'node:path';
import { type Clock, sleep } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';
import { keepLastGood, type ManifestState, mergeManifests } from './last-good.ts';
import { readManifest } from './manifest.ts';
import type { SetPods } from './pod-config.ts';
import type { PodSchema } from './pod-schema.ts';
import type { ManifestProblem } from './problem.ts';
import { ProblemLog } from './problem-log.ts';
import { WakeUp } from './wake-up.ts';

/** What {@link FileSource} works with. */
export interface FileSourceComponents {
  readonly fs: Pick<FileSystem, 'stat' | 'lstat' | 'readdir' | 'open' | 'watch'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schema: PodSchema;
  /** Takes all pods whenever they changed: `podConfig.addSource('file')`. */
  readonly set: SetPods;
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

/**
 * The pods of a directory of manifests, or of one (`pkg/kubelet/config/file.go`): read at once, on each hint of the
 * file system, and once a period. Names that begin with a dot and subdirectories are passed over.
 *
 * Other than upstream, a manifest that cannot be read, is broken or is empty keeps its last good pods (F2), and so does
 * a directory that vanishes; a manifest that is removed takes its pods with it. A path that was never there has no
 * pods. While a path cannot be looked at for any other reason, the source has not spoken (F1).
 */
export class FileSource {
  readonly #components: FileSourceComponents;
  readonly #options: FileSourceOptions & typeof DEFAULTS;
  readonly #log: ProblemLog;
  readonly #wakeUp: WakeUp;
  #files = new Map<string, FileVersion>();
  /** The names that hints named since the last look; `all` after a hint without a name. */
  #changed: Set<string> | 'all' = 'all';
  #wasDirectory = false;
  #told: ManifestState['pods'] | undefined;

  constructor(components: FileSourceComponents, options: FileSourceOptions) {
    this.#components = components;
    this.#options = { ...DEFAULTS, ...options, path: options.path.replace(/(?<=.)\/+$/, '') };
    this.#log = new ProblemLog(components.logger);
    this.#wakeUp = new WakeUp(components.clock);
  }

  /** What is wrong at present: with the path, with manifests in it, among them. */
  get problems(): readonly ManifestProblem[] {
    return this.#log.problems;
  }

  /** Looks and watches until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#lookUntil(signal), this.#watchUntil(signal)]);
  }

  async #lookUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wakeUp.forget();
      const changed = this.#changed;
      this.#changed = new Set();
      await this.#look(changed);
      if (!(await this.#wakeUp.wait(this.#options.periodMs, signal))) this.#changed = 'all';
      else if (this.#options.settleMs > 0)
        await ignoreAbort(sleep(this.#components.clock, this.#options.settleMs, signal));
    }
  }

  async #watchUntil(signal: AbortSignal): Promise<void> {
    const { fs, clock, logger } = this.#components;
    while (!signal.aborted) {
      const { path } = this.#options;
      // A file is watched through its directory: editors and atomic writers put another file in its place.
      const directory = this.#wasDirectory || (await isDirectory(fs, path)) ? path : dirname(path);
      const onChange = (name: string | undefined): void => this.#hint(directory === path ? name : undefined, name);
      try {
        await fs.watch(directory, onChange, signal);
      } catch (error) {
        logger.debug({ err: error, path: directory }, 'Manifests are not watched for now');
        this.#hint(undefined);
        await ignoreAbort(sleep(clock, WATCH_RETRY_MS, signal));
      }
    }
  }

  /** @param only where given, the name in the directory of a single manifest that changed */
  #hint(name: string | undefined, only?: string): void {
    if (name?.startsWith('.')) return;
    if (name === undefined && only !== undefined && only !== basename(this.#options.path)) return;
    if (name === undefined) this.#changed = 'all';
    else if (this.#changed !== 'all') this.#changed.add(name);
    this.#wakeUp.call();
  }

  async #look(changed: ReadonlySet<string> | 'all'): Promise<void> {
    const { path } = this.#options;
    const listing = await this.#list();
    const problems: ManifestProblem[] = [];
    if ('problem' in listing) {
      problems.push({ source: path, message: listing.problem });
      // Only a path that was never there says that there are no pods.
      if (this.#told !== undefined || !listing.missing)
        return this.#log.update([...problems, ...this.#merged().problems]);
    } else {
      const files = new Map<string, FileVersion>();
      for (const file of listing.files) {
        const known = this.#files.get(file);
        const stale = known === undefined || changed === 'all' || changed.has(basename(file));
        const version = stale ? await this.#readFile(file, known) : known;
        if (version !== undefined) files.set(file, version);
      }
      this.#files = files;
    }
    const merged = this.#merged();
    this.#log.update([...problems, ...merged.problems]);
    if (this.#told === undefined || !sameList(this.#told, merged.pods)) {
      this.#told = merged.pods;
      this.#components.set(merged.pods);
    }
  }

  #merged(): ManifestState {
    return mergeManifests(this.#files);
  }

  async #list(): Promise<
    { readonly files: readonly string[] } | { readonly problem: string; readonly missing: boolean }
  > {
    const { fs } = this.#components;
    const { path } = this.#options;
    try {
      const { kind } = await fs.stat(path);
      if (kind === 'file') {
        this.#wasDirectory = false;
        return { files: [path] };
      }
      if (kind !== 'directory') return { problem: `is neither a directory nor a file but a ${kind}`, missing: false };
      const entries = await fs.readdir(path);
      this.#wasDirectory = true;
      return { files: entries.filter(({ name }) => !name.startsWith('.')).map(({ name }) => join(path, name)) };
    } catch (error) {
      if (!isMissing(error)) return { problem: messageOf(error), missing: false };
      // A single manifest that was removed from a directory which is there is gone; anything else may come back.
      const removed = this.#files.has(path) && (await isDirectory(fs, dirname(path)));
      return removed ? { files: [] } : { problem: 'does not exist', missing: true };
    }
  }

  /** Reads one file; `undefined` where it is none of ours or is gone. */
  async #readFile(path: string, known: FileVersion | undefined): Promise<FileVersion | undefined> {
    const { fs, logger, schema } = this.#components;
    const { limitBytes, nodeName } = this.#options;
    const unreadable = (message: string): FileVersion => {
      const state = keepLastGood(known, { pods: [], problems: [{ source: path, message }] });
      return { ...state, bytes: undefined };
    };
    try {
      const { kind } = await fs.stat(path);
      if (kind === 'directory') {
        logger.debug({ path }, 'Directory among the manifests is not entered');
        return undefined;
      }
      if (kind !== 'file') return unreadable(`is not a file but a ${kind}`);
      const file = await fs.open(path, 'r');
      let bytes: Uint8Array;
      try {
        bytes = await file.read(0, limitBytes + 1);
      } finally {
        await file.close();
      }
      if (bytes.length > limitBytes) return unreadable(`is larger than ${limitBytes} bytes`);
      if (known?.bytes !== undefined && Buffer.compare(known.bytes, bytes) === 0) return known;
      const reading = readManifest(bytes, { kind: 'file', location: path, nodeName }, schema);
      return { ...keepLastGood(known, reading), bytes };
    } catch (error) {
      if (!isMissing(error)) return unreadable(messageOf(error));
      const dangling = await fs.lstat(path).then(
        () => true,
        () => false,
      );
      return dangling ? unreadable('is a link to a file that does not exist') : undefined;
    }
  }
}

interface FileVersion extends ManifestState {
  /** What was read last, whether it was good or not; `undefined` where it could not be read. */
  readonly bytes: Uint8Array | undefined;
}

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

async function isDirectory(fs: Pick<FileSystem, 'stat'>, path: string): Promise<boolean> {
  return fs.stat(path).then(
    ({ kind }) => kind === 'directory',
    () => false,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A sleep that a signal ends is no error here: the loops look at the signal themselves. */
async function ignoreAbort(sleeping: Promise<void>): Promise<void> {
  await sleeping.catch(() => {});
}
