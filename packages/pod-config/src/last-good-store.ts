import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { checkComponents, checkOptions } from '@node-agent/async';
import { bytesOfText, type FileSystem, isMissing, removeUnfinishedFiles } from '@node-agent/host';

/**
 * Remembers the last valid content of manifests across restarts, so that a manifest that is invalid or unreachable at
 * the next start keeps its pods (F2).
 */
export interface LastGoodStore {
  /** Returns the last valid content of a file or URL; `undefined` if none is known. */
  load(source: string): Promise<Uint8Array | undefined>;
  save(source: string, content: Uint8Array): Promise<void>;
  /**
   * Drops all other sources: the pods of a removed manifest must not come back with the next invalid file of that name.
   */
  retain(sources: readonly string[]): Promise<void>;
}

/** A directory with one file per manifest, readable only by its owner, because manifests may contain passwords. */
export class LastGoodDirectory implements LastGoodStore {
  readonly #fs: Pick<FileSystem, 'readFile' | 'writeFileAtomic' | 'mkdir' | 'readdir' | 'remove'>;
  readonly #path: string;

  /**
   * Creates the store of one source.
   * @param options.path directory used only by this source; created with the first manifest
   */
  constructor(
    components: { readonly fs: Pick<FileSystem, 'readFile' | 'writeFileAtomic' | 'mkdir' | 'readdir' | 'remove'> },
    options: { readonly path: string },
  ) {
    checkComponents('LastGoodDirectory', components, {
      fs: ['mkdir', 'readdir', 'remove', 'writeFileAtomic', 'readFile'],
    });
    checkOptions('LastGoodDirectory', options, { path: 'string' });
    this.#fs = components.fs;
    this.#path = options.path;
  }

  async load(source: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#fs.readFile(this.#file(source));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async save(source: string, content: Uint8Array): Promise<void> {
    await this.#fs.mkdir(this.#path, { mode: 0o700 });
    await this.#fs.writeFileAtomic(this.#file(source), content, { mode: 0o600 });
  }

  async retain(sources: readonly string[]): Promise<void> {
    const kept = new Set(sources.map(nameOf));
    // A manifest that was read late may be saved at the same time, so the temporary file of a save in progress is kept.
    await removeUnfinishedFiles(this.#fs, this.#path);
    try {
      for (const { name } of await this.#fs.readdir(this.#path)) {
        if (!kept.has(name) && !name.startsWith('.')) await this.#fs.remove(join(this.#path, name));
      }
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  #file(source: string): string {
    return join(this.#path, nameOf(source));
  }
}

function nameOf(source: string): string {
  return createHash('sha256').update(bytesOfText(source)).digest('hex');
}
