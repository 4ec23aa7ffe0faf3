import { checkComponents, checkOptions, KeyedMutex, type Random } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { UserNamespaceError } from './errors.ts';
import { checkIdRange, DEFAULT_IDS_PER_POD, type IdRange } from './id-range.ts';
import { formatMappings, type IdMapping, MAPPINGS_FILE, mappingOf, parseMappings } from './mappings-file.ts';
import { RangePool } from './range-pool.ts';

/** Dependencies of {@link UserNamespaces}. */
export interface UserNamespacesComponents {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'writeFileAtomic' | 'remove'>;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/** Options of {@link UserNamespaces}. */
export interface UserNamespacesOptions {
  /** `<root>/pods`: the directories of pods, named by UID. */
  readonly podsDirectory: string;
  /** The range of host IDs that is divided among the pods. */
  readonly range: IdRange;
  /** IDs per pod, a multiple of 65536. Default: 65536. */
  readonly idsPerPod?: number;
  /** Maximum number of pods. The range must have enough IDs for this number of pods. */
  readonly maxPods: number;
}

/** ID mappings of a pod for users and groups. */
export interface UserNamespaceMappings {
  readonly uids: readonly IdMapping[];
  readonly gids: readonly IdMapping[];
}

/** Maximum file size; upstream's files have about 150 bytes. */
const MAX_FILE_BYTES = 64 * 1024;
/**
 * Error codes that mean that the mappings file is a directory, a FIFO, a loop of links, or a far too long file. Such an
 * error is permanent and concerns only one pod.
 */
const NO_FILE_OF_OURS: ReadonlySet<string> = new Set(['EISDIR', 'ENXIO', 'ELOOP', 'EFBIG', 'ENOTDIR']);

/**
 * Manages the user namespaces of pods (KEP-127): each pod has its own range of host IDs for its whole lifetime. The
 * range is written to the file `userns` in the pod's directory before the pod uses it, so that the pod has the same
 * range after a restart of the kubelet (`pkg/kubelet/userns/userns_manager.go`).
 */
export class UserNamespaces {
  readonly #components: WithDefaults<UserNamespacesComponents>;
  readonly #podsDirectory: string;
  readonly #pool: RangePool;
  readonly #turns = new KeyedMutex<string>();
  #loading: Promise<void> | undefined;

  /** @throws UserNamespaceError `InvalidRange` if the range is invalid or too small for the pods */
  constructor(components: UserNamespacesComponents, options: UserNamespacesOptions) {
    checkOptions('UserNamespaces', options, {
      podsDirectory: 'string',
      range: 'object',
      idsPerPod: 'limit?',
      maxPods: 'limit',
    });
    checkComponents('UserNamespaces', components, { fs: ['open', 'readdir', 'remove', 'writeFileAtomic'] });
    const { podsDirectory, range, idsPerPod = DEFAULT_IDS_PER_POD, maxPods } = options;
    checkIdRange(range, idsPerPod, maxPods);
    this.#components = withDefaults({ random: undefined, logger: undefined, ...components });
    this.#podsDirectory = podsDirectory;
    this.#pool = new RangePool(range, idsPerPod, this.#components.random);
  }

  /** Number of pods with a range. */
  get size(): number {
    return this.#pool.size;
  }

  /**
   * Returns the ID mappings of a pod. Assigns a range if the pod has none. The pod's directory must exist.
   * @throws UserNamespaceError `Exhausted`, `InvalidUid`, `InvalidFile`; errors of the file system, after which the pod
   * has no range
   */
  async mappings(uid: string): Promise<UserNamespaceMappings> {
    await this.#loaded();
    const range = await this.#turns.run(uid, () => this.#take(uid));
    const mapping = [mappingOf(range)];
    return { uids: mapping, gids: mapping };
  }

  /**
   * Releases the range of a pod that is gone. Never rejects: if the file cannot be removed, the pod keeps its range
   * until {@link releaseOrphans} succeeds.
   */
  async release(uid: string): Promise<void> {
    await this.#turns.run(uid, async () => {
      if (!this.#pool.has(uid)) return;
      try {
        await this.#components.fs.remove(this.#pathOf(uid));
      } catch (err) {
        if (!isMissing(err)) {
          this.#components.logger.error({ podUid: uid, err }, 'Failed to remove the file of a user namespace');
          return;
        }
      }
      this.#pool.release(uid);
    });
  }

  /** Releases the ranges of all pods for which `isKnown` returns false. */
  async releaseOrphans(isKnown: (uid: string) => boolean): Promise<void> {
    await this.#loaded();
    for (const uid of this.#pool.pods()) if (!isKnown(uid)) await this.release(uid);
  }

  /** Loads the ranges of pods of an earlier kubelet before any range is assigned. */
  async #loaded(): Promise<void> {
    this.#loading ??= this.#load().catch((err: unknown) => {
      this.#loading = undefined;
      throw err;
    });
    await this.#loading;
  }

  async #load(): Promise<void> {
    const { fs, logger } = this.#components;
    let entries: Awaited<ReturnType<FileSystem['readdir']>>;
    try {
      entries = await fs.readdir(this.#podsDirectory);
    } catch (err) {
      if (isMissing(err)) return;
      throw err;
    }
    for (const { name: uid, kind } of entries) {
      if (kind !== 'directory') continue;
      let range: IdRange | undefined;
      try {
        range = await this.#read(uid);
        if (range !== undefined) this.#record(uid, range);
      } catch (err) {
        if (!UserNamespaceError.is(err)) throw err;
        // Upstream does not start if a mappings file is invalid. Here, only the pod of the file fails, when it requests
        // its IDs. If the pod's IDs are unknown, no IDs are assigned to any other pod until this pod is gone, because
        // no two pods may share IDs.
        if (range === undefined) this.#pool.blockAll(uid, err);
        logger.error({ podUid: uid, reason: errorText(err) }, 'Failed to restore the user namespace of a pod');
      }
    }
  }

  #record(uid: string, range: IdRange): void {
    try {
      this.#pool.record(uid, range);
    } catch (err) {
      // The IDs are blocked, because the pod's containers may be running with them nevertheless.
      this.#pool.block(uid, range);
      throw err;
    }
  }

  async #take(uid: string): Promise<IdRange> {
    let known: IdRange | undefined;
    try {
      known = await this.#read(uid);
      if (known !== undefined) this.#record(uid, known);
    } catch (err) {
      throw inContext('user namespace', err);
    }
    return known ?? (await this.#make(uid));
  }

  async #make(uid: string): Promise<IdRange> {
    // If only the file is missing, the pod's containers still use the range.
    const known = this.#pool.rangeOf(uid);
    try {
      const range = known ?? this.#pool.allocate(uid);
      await this.#components.fs.writeFileAtomic(this.#pathOf(uid), formatMappings(range), { mode: 0o600 });
      return range;
    } catch (err) {
      if (known === undefined) this.#pool.release(uid);
      throw inContext('create user namespace', err);
    }
  }

  async #read(uid: string): Promise<IdRange | undefined> {
    try {
      const bytes = await readFileBounded(this.#components.fs, this.#pathOf(uid), MAX_FILE_BYTES);
      return bytes.length === 0 ? undefined : parseMappings(new TextDecoder().decode(bytes));
    } catch (err) {
      if (isMissing(err)) return undefined;
      if (!NO_FILE_OF_OURS.has(errorCode(err) ?? '')) throw err;
      const message = `invalid user namespace mappings file: ${errorText(err)}`;
      throw new UserNamespaceError('InvalidFile', message, { cause: err });
    }
  }

  #pathOf(uid: string): string {
    if (uid === '' || uid === '.' || uid === '..' || uid.includes('/') || uid.includes('\0')) {
      throw new UserNamespaceError('InvalidUid', `pod UID ${JSON.stringify(uid)} must be usable as a directory name`);
    }
    return `${this.#podsDirectory}/${uid}/${MAPPINGS_FILE}`;
  }
}

/** Prefixes an error with the operation, as upstream does. */
function inContext(what: string, err: unknown): unknown {
  if (!UserNamespaceError.is(err)) return err;
  return new UserNamespaceError(err.code, `${what}: ${err.message}`, { cause: err });
}
