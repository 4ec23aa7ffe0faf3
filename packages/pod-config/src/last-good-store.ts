import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { checkComponents, checkOptions } from '@node-agent/async';
import { bytesOfText, type FileSystem, isMissing } from '@node-agent/host';

/**
 * Remembers the last good content of manifests across a restart, so that one that is broken or out of reach at the next
 * start keeps its pods all the same (F2).
 */
export interface LastGoodStore {
  /** The last good content of a file or URL; `undefined` where none is known. */
  load(source: string): Promise<Uint8Array | undefined>;
  save(source: string, content: Uint8Array): Promise<void>;
  /** Forgets all others: what was removed must not come back with the next broken file of its name. */
  retain(sources: readonly string[]): Promise<void>;
}

/** A directory with one file for each manifest, which its owner alone may read: manifests may hold passwords. */
export class LastGoodDirectory implements LastGoodStore {
  readonly #fs: Pick<FileSystem, 'readFile' | 'writeFileAtomic' | 'mkdir' | 'readdir' | 'remove'>;
  readonly #path: string;

  /** @param options.path a directory of its own for each source; it is made with the first manifest */
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
    try {
      for (const { name } of await this.#fs.readdir(this.#path)) {
        if (!kept.has(name)) await this.#fs.remove(join(this.#path, name));
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
