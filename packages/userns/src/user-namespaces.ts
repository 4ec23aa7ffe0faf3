import { checkComponents, checkOptions, KeyedMutex, type Random } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { UserNamespaceError } from './errors.ts';
import { checkIdRange, DEFAULT_IDS_PER_POD, type IdRange } from './id-range.ts';
import { formatMappings, type IdMapping, MAPPINGS_FILE, mappingOf, parseMappings } from './mappings-file.ts';
import { RangePool } from './range-pool.ts';

/** What {@link UserNamespaces} works with. */
export interface UserNamespacesComponents {
  readonly fs: Pick<FileSystem, 'open' | 'readdir' | 'writeFileAtomic' | 'remove'>;
  /** The machine's own where absent. */
  readonly random?: Random;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/** What {@link UserNamespaces} is told. */
export interface UserNamespacesOptions {
  /** `<root>/pods`: the directories of pods, each named by its UID. */
  readonly podsDirectory: string;
  /** The host's IDs that pods are given. */
  readonly range: IdRange;
  /** A multiple of 65536, which it is by default. */
  readonly idsPerPod?: number;
  /** How many pods there may be at once: as many as there have to be IDs for. */
  readonly maxPods: number;
}

/** The IDs of a pod, of users as of groups. */
export interface UserNamespaceMappings {
  readonly uids: readonly IdMapping[];
  readonly gids: readonly IdMapping[];
}

/** Upstream's are of about 150 bytes. */
const MAX_FILE_BYTES = 64 * 1024;
/** What is there is a directory, a FIFO, a loop of links, or far too long: that is the pod's own trouble, and will not pass. */
const NO_FILE_OF_OURS: ReadonlySet<string> = new Set(['EISDIR', 'ENXIO', 'ELOOP', 'EFBIG', 'ENOTDIR']);

/**
 * The user namespaces of pods (KEP-127): each pod has a range of the host's IDs of its own, which it keeps for as long as it is there.
 * It is in the file `userns` of the pod's directory before anybody is told of it, so that it is the same after a restart
 * (`pkg/kubelet/userns/userns_manager.go`).
 */
export class UserNamespaces {
  readonly #components: WithDefaults<UserNamespacesComponents>;
  readonly #podsDirectory: string;
  readonly #pool: RangePool;
  readonly #turns = new KeyedMutex<string>();
  #loading: Promise<void> | undefined;

  /** @throws UserNamespaceError `InvalidRange` where the range does not hold enough for the pods */
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

  /** How many pods have a range. */
  get size(): number {
    return this.#pool.size;
  }

  /**
   * The IDs of a pod, which are made where it has none yet. Its directory has to be there.
   * @throws UserNamespaceError `Exhausted`, `InvalidUid`, `InvalidFile`; errors of the file system, the pod then having no range
   */
  async mappings(uid: string): Promise<UserNamespaceMappings> {
    await this.#loaded();
    const range = await this.#turns.run(uid, () => this.#take(uid));
    const mapping = [mappingOf(range)];
    return { uids: mapping, gids: mapping };
  }

  /**
   * The pod is gone: its range is free. Never rejects: where its file cannot be removed the pod keeps its range, until
   * {@link releaseOrphans} is through with it.
   */
  async release(uid: string): Promise<void> {
    await this.#turns.run(uid, async () => {
      if (!this.#pool.has(uid)) return;
      try {
        await this.#components.fs.remove(this.#pathOf(uid));
      } catch (err) {
        if (!isMissing(err)) {
          this.#components.logger.error({ podUid: uid, err }, 'The file of a user namespace could not be removed');
          return;
        }
      }
      this.#pool.release(uid);
    });
  }

  /** Releases what pods have that nobody knows any more. */
  async releaseOrphans(isKnown: (uid: string) => boolean): Promise<void> {
    await this.#loaded();
    for (const uid of this.#pool.pods()) if (!isKnown(uid)) await this.release(uid);
  }

  /** What pods of a former kubelet have is not given to others: it is read before anything is given. */
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
        // Upstream does not start then. Here it costs the pod itself, which is told when it asks for its IDs; and where nobody knows
        // what it has, nobody is given IDs any more until it is gone: no two pods may have the same.
        if (range === undefined) this.#pool.blockAll(uid, err);
        logger.error({ podUid: uid, reason: errorText(err) }, 'The user namespace of a pod cannot be taken over');
      }
    }
  }

  #record(uid: string, range: IdRange): void {
    try {
      this.#pool.record(uid, range);
    } catch (err) {
      // Its containers may run all the same.
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
    // Where only the disk has forgotten it, its containers still have what they were given.
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
      throw new UserNamespaceError('InvalidUid', `pod UID ${JSON.stringify(uid)} is no name of a directory`);
    }
    return `${this.#podsDirectory}/${uid}/${MAPPINGS_FILE}`;
  }
}

/** As upstream puts before its errors what was to be done. */
function inContext(what: string, err: unknown): unknown {
  if (!UserNamespaceError.is(err)) return err;
  return new UserNamespaceError(err.code, `${what}: ${err.message}`, { cause: err });
}
