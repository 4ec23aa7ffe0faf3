import { dirname } from 'node:path';
import type { Clock } from '@node-agent/async';
import { type FileSystem, isMissing } from '@node-agent/host';
import { type Mounter, realDirectory } from './mounter.ts';

/** What {@link MountedTypes} works with. */
export interface MountedTypesComponents {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly fs: Pick<FileSystem, 'realpath' | 'mountId'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
}

/** For how long what was read of the mount table counts: volumes are looked at one after another. */
const TABLE_MS = 1000;

/**
 * Which file systems are mounted at directories of the kubelet's own. What is mounted is not asked, as it may never answer (W6), and
 * the mount table, which grows with the pods, is read once for all that are looked at within a second. As long as it is the same, a
 * mount's id tells whether it is still the same; no longer, as the kernel gives the id of a mount that is gone to the next one.
 */
export class MountedTypes {
  readonly #components: MountedTypesComponents;
  /** What was found by the table. */
  readonly #known = new Map<string, { readonly mountId: string; readonly type: string }>();
  #table: { readonly readAtMs: number; readonly types: ReadonlyMap<string, string> } | undefined;
  /** What is read meanwhile may be of before the last one. */
  #changes = 0;

  constructor(components: MountedTypesComponents) {
    this.#components = components;
  }

  /** The type of what is mounted at `directory` itself; `undefined` where nothing is, or it is not there. */
  async at(directory: string): Promise<string | undefined> {
    const mountId = await this.#mountId(directory);
    if (mountId !== undefined && this.#known.get(directory)?.mountId === mountId) {
      await this.#types();
      // Gone with the table that it was found by.
      const known = this.#known.get(directory);
      if (known !== undefined) return known.type;
    }
    const wasAnother = this.#known.delete(directory);
    if (mountId === undefined || mountId === (await this.#mountId(dirname(directory)))) return undefined;
    const real = await realDirectory(this.#components.fs, directory);
    if (real === undefined) return undefined;
    // One that is not in the table, or was another, may be newer than that.
    const type = (wasAnother ? undefined : (await this.#types()).get(real)) ?? (await this.#read()).get(real);
    if (type !== undefined && this.#table !== undefined) this.#known.set(directory, { mountId, type });
    return type;
  }

  /** The mount table is read when it is asked next: a directory goes, or its mounts change. */
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
