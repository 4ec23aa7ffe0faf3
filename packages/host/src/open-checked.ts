import { constants } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { systemPath, textOfBytes } from './byte-names.ts';
import { kindOf } from './file-stat.ts';
import type { BeneathOptions, FileKind } from './file-system.ts';
import { mountIdOf, O_PATH, onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** Opens nothing that has an effect: on Linux only a place in the tree, elsewhere without waiting. */
const FIND = onLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/** As many links as the kernel follows. */
const MAX_LINKS = 40;

/** How many directories on the way are held open: whoever makes them deeper shall not have all of this process's descriptors. */
const MAX_HELD = 256;

/**
 * Opens a file or a directory for reading, and nothing else: what is at the path is looked at before it is opened, for
 * a FIFO's opening waits for a writer, and a device's may do anything. What is opened is what was looked at.
 * @throws ENXIO for a FIFO, a socket, a device
 */
export async function openForReading(path: string): Promise<fsp.FileHandle> {
  const found = await fsp.open(systemPath(path), FIND);
  return await opened(found, path, ['file', 'directory']);
}

/**
 * Opens a file below a directory in which others may write every name at any instant: each is looked up in the open
 * directory before it, so that what was seen is what is gone on with. @see FileSystem.openBeneath
 */
export async function openBeneath(directory: string, path: string, options: BeneathOptions): Promise<fsp.FileHandle> {
  const walk = new Walk(directory, path, options);
  try {
    return await walk.open();
  } finally {
    await walk.close();
  }
}

/** From the directory down: what is held open on the way is closed at its end. */
class Walk {
  readonly #directory: string;
  readonly #path: string;
  readonly #links: NonNullable<BeneathOptions['links']>;
  readonly #stack: { readonly file: fsp.FileHandle; readonly path: string }[] = [];
  #mountId = '';

  constructor(directory: string, path: string, { links = 'refuse' }: BeneathOptions) {
    this.#directory = directory;
    this.#path = path;
    this.#links = links;
  }

  async open(): Promise<fsp.FileHandle> {
    const root = await fsp.open(systemPath(this.#directory), FIND | constants.O_DIRECTORY);
    this.#stack.push({ file: root, path: this.#directory });
    this.#mountId = mountIdOf(root.fd);
    // Last first.
    const pending = namesOf(this.#path);
    let links = 0;
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (name === '..') {
        if (this.#links === 'refuse') throw this.#error('EXDEV', 'it leads out of its directory');
        // As in a chroot: the root is its own parent.
        if (this.#stack.length > 1) await this.#stack.pop()?.file.close();
        continue;
      }
      const target = await this.#enter(name);
      if (target === undefined) continue;
      if (this.#links === 'refuse') throw this.#error('ELOOP', 'a link on the way is not followed');
      if (++links > MAX_LINKS) throw this.#error('ELOOP');
      if (target.startsWith('/')) await this.close(1);
      pending.push(...namesOf(target));
    }
    const last = this.#stack.length > 1 ? this.#stack.pop() : undefined;
    if (last === undefined) throw this.#error('EISDIR');
    return await opened(last.file, this.#at(), ['file']);
  }

  /** Closes what is open, but for the first so many. */
  async close(keep = 0): Promise<void> {
    for (const { file } of this.#stack.splice(keep)) await file.close();
  }

  /** Goes one name on. @returns the target of what turns out to be a link, where this stays where it is */
  async #enter(name: string): Promise<string | undefined> {
    const parent = this.#stack.at(-1);
    if (parent === undefined) throw this.#error('ENOENT');
    if (this.#stack.length > MAX_HELD + 1) throw this.#error('ENAMETOOLONG', 'it lies too deep');
    const path = `${onLinux ? `/proc/self/fd/${parent.file.fd}` : parent.path}/${name}`;
    let file: fsp.FileHandle;
    try {
      file = await fsp.open(systemPath(path), FIND | constants.O_NOFOLLOW);
    } catch (error) {
      const code = errorCode(error) ?? 'EIO';
      if (code === 'ELOOP') return await this.#targetOf(path);
      throw this.#error(code);
    }
    try {
      // First of all, and from memory: what is mounted there may never answer.
      if (mountIdOf(file.fd) !== this.#mountId) throw this.#error('EXDEV', 'it leads into another mount');
      const isLink = kindOf(await file.stat()) === 'symlink';
      if (!isLink) {
        this.#stack.push({ file, path });
        return undefined;
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    return await this.#targetOf(path);
  }

  /** Whatever it is by now, it is followed in here only. */
  async #targetOf(path: string): Promise<string> {
    try {
      return textOfBytes(await fsp.readlink(systemPath(path), { encoding: 'buffer' }));
    } catch (error) {
      throw this.#error(errorCode(error) ?? 'EIO');
    }
  }

  #at(): string {
    return `${this.#directory}/${this.#path}`;
  }

  #error(code: string, detail?: string): Error {
    return systemError(code, 'open', this.#at(), detail);
  }
}

/** Names of a path, the last one first. */
function namesOf(path: string): string[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .reverse();
}

/** Opens what was found, and closes that. @throws EISDIR; ENXIO for what is neither file nor directory */
async function opened(found: fsp.FileHandle, path: string, kinds: readonly FileKind[]): Promise<fsp.FileHandle> {
  let keep = false;
  try {
    const kind = kindOf(await found.stat());
    if (!kinds.includes(kind)) throw systemError(kind === 'directory' ? 'EISDIR' : 'ENXIO', 'open', path);
    keep = !onLinux;
    // Without waiting: not even for one who holds a lease on it.
    return keep ? found : await fsp.open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = errorCode(error);
    throw code === undefined ? error : systemError(code, 'open', path);
  } finally {
    if (!keep) await found.close();
  }
}
