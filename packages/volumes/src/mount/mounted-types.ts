import { dirname } from 'node:path';
import type { Clock } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, realDirectory } from './mounter.ts';

/** Dependencies of {@link MountedTypes}. */
export interface MountedTypesComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly fs: Pick<FileSystem, 'realpath' | 'mountId'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
}

/**
 * Time for which a read mount table is reused, in milliseconds, because several volumes are usually checked in
 * succession.
 */
const TABLE_MS = 1000;

/**
 * Finds which file systems are mounted at the kubelet's own directories. The mounted file systems are not accessed,
 * because an access may hang (W6). The mount table, which grows with the number of pods, is read at most once per
 * second. While the table is unchanged, an equal mount id proves that the mount is unchanged; after a change it does
 * not, because the kernel reuses ids of removed mounts.
 */
export class MountedTypes {
  readonly #components: MountedTypesComponents;
  /** Types found in the current mount table, by directory. */
  readonly #known = new Map<string, { readonly mountId: string; readonly type: string }>();
  #table: { readonly readAtMs: number; readonly types: ReadonlyMap<string, string> } | undefined;
  /** Number of invalidations. A mount table whose read began before an invalidation is not cached. */
  #changes = 0;

  constructor(components: MountedTypesComponents) {
    this.#components = components;
  }

  /**
   * Returns the type of the file system mounted at `directory` itself; `undefined` if none is mounted or the directory
   * does not exist.
   */
  async at(directory: string): Promise<string | undefined> {
    const mountId = await this.#mountId(directory);
    if (mountId !== undefined && this.#known.get(directory)?.mountId === mountId) {
      await this.#types();
      // `#types` may have dropped the entry together with an outdated table.
      const known = this.#known.get(directory);
      if (known !== undefined) return known.type;
    }
    const wasAnother = this.#known.delete(directory);
    if (mountId === undefined || mountId === (await this.#mountId(dirname(directory)))) return undefined;
    const real = await realDirectory(this.#components.fs, directory);
    if (real === undefined) return undefined;
    // The mount may be newer than the cached table, so the table is read again if it lacks the mount, or if the mount
    // has changed.
    const type = (wasAnother ? undefined : (await this.#types()).get(real)) ?? (await this.#read()).get(real);
    if (type !== undefined && this.#table !== undefined) this.#known.set(directory, { mountId, type });
    return type;
  }

  /** Invalidates the cached mount table, because a directory is removed or its mounts change. */
  forget(): void {
    this.#known.clear();
    this.#table = undefined;
    this.#changes += 1;
  }

  async #types(): Promise<ReadonlyMap<string, string>> {
    const table = this.#table;
    const isOld = table === undefined || this.#components.clock.monotonic() - table.readAtMs >= TABLE_MS;
    return isOld ? await this.#read() : table.types;
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    const readAtMs = this.#components.clock.monotonic();
    const changes = this.#changes;
    const types = await this.#components.mounter.mountPoints();
    if (changes !== this.#changes) return types;
    if (types !== this.#table?.types) this.#known.clear();
    this.#table = { readAtMs, types };
    return types;
  }

  async #mountId(path: string): Promise<string | undefined> {
    try {
      return await this.#components.fs.mountId(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}
