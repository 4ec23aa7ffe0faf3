import { constants } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { systemPath, textOfBytes } from './byte-names.ts';
import { kindOf } from './file-stat.ts';
import type { BeneathOptions, FileKind } from './file-system.ts';
import { LinkRule, type PathName, pathNames } from './link-rule.ts';
import { mountIdOf, O_PATH, onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** Opens nothing that has an effect: on Linux only a place in the tree, elsewhere without waiting. */
const FIND = onLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

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
  const walk = new Walk(directory, path, { links: options.links ?? 'refuse' });
  try {
    const last = await walk.walk();
    if (last === undefined) throw walk.error('EISDIR');
    return await opened(last, `${directory}/${path}`, ['file']);
  } finally {
    await walk.close();
  }
}

/** How {@link holdBeneath} walks. */
export interface HoldingOptions {
  /** Makes the directories that are missing, each with the mode of `directory`. */
  readonly makeDirectories: boolean;
  /** Whether other mounts are entered, those too that come into being only when they are asked for (openat(2)): it may take for ever. */
  readonly crossMounts: boolean;
}

/**
 * Finds what a path names below a directory in which others may write every name at any instant, and holds it, whatever
 * it is, without opening it. @see FileSystem.holdBeneath
 */
export async function holdBeneath(directory: string, path: string, options: HoldingOptions): Promise<fsp.FileHandle> {
  const walk = new Walk(directory, path, { links: 'beneath', ...options });
  try {
    return (await walk.walk()) ?? (await walk.takeRoot());
  } finally {
    await walk.close();
  }
}

interface WalkRules extends Partial<HoldingOptions> {
  readonly links: 'refuse' | 'within' | 'beneath';
}

/** From the directory down: what is held open on the way is closed at its end. */
class Walk {
  readonly #directory: string;
  readonly #path: string;
  readonly #rules: WalkRules;
  readonly #stack: { readonly file: fsp.FileHandle; readonly path: string }[] = [];
  #mountId = '';
  #mode = 0;

  constructor(directory: string, path: string, rules: WalkRules) {
    this.#directory = directory;
    this.#path = path;
    this.#rules = rules;
  }

  /** @returns what the path names, the caller's to close; `undefined` for the directory itself */
  async walk(): Promise<fsp.FileHandle | undefined> {
    const root = await fsp.open(systemPath(this.#directory), FIND | constants.O_DIRECTORY);
    this.#stack.push({ file: root, path: this.#directory });
    if (!this.#rules.crossMounts) this.#mountId = mountIdOf(root.fd);
    if (this.#rules.makeDirectories) this.#mode = (await root.stat()).mode & 0o7777;
    const links = new LinkRule(this.#rules.links, () => this.#realDirectory(root));
    // Last first.
    const pending = pathNames(this.#path, false);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next.name === '..') {
        const step = links.parent(this.#stack.length === 1);
        if (step === 'out') throw this.error('EXDEV', 'it leads out of its directory');
        if (step === 'up') await this.#stack.pop()?.file.close();
        continue;
      }
      const target = await this.#enter(next);
      if (target === undefined) continue;
      const followed = await links.follow(target);
      if ('code' in followed) throw this.error(followed.code, followed.detail);
      if (followed.fromRoot) await this.close(1);
      pending.push(...followed.names);
    }
    return this.#stack.length > 1 ? this.#stack.pop()?.file : undefined;
  }

  /** The directory that it began in, the caller's to close. */
  async takeRoot(): Promise<fsp.FileHandle> {
    const root = this.#stack.pop();
    if (root === undefined) throw this.error('ENOENT');
    return root.file;
  }

  /** Closes what is open, but for the first so many. */
  async close(keep = 0): Promise<void> {
    for (const { file } of this.#stack.splice(keep)) await file.close();
  }

  /** Goes one name on. @returns the target of what turns out to be a link, where this stays where it is */
  async #enter({ name, ofLink }: PathName): Promise<string | undefined> {
    const parent = this.#stack.at(-1);
    if (parent === undefined) throw this.error('ENOENT');
    if (this.#stack.length > MAX_HELD + 1) throw this.error('ENAMETOOLONG', 'it lies too deep');
    const path = `${onLinux ? `/proc/self/fd/${parent.file.fd}` : parent.path}/${name}`;
    if (this.#rules.crossMounts) await fsp.lstat(systemPath(`${path}/`)).catch(() => undefined);
    let file: fsp.FileHandle;
    try {
      file = await fsp.open(systemPath(path), FIND | constants.O_NOFOLLOW);
    } catch (error) {
      const code = errorCode(error) ?? 'EIO';
      if (code === 'ELOOP') return await this.#targetOf(path);
      // A link that leads nowhere stays one, as for mkdir(2).
      if (code !== 'ENOENT' || ofLink || !this.#rules.makeDirectories) throw this.error(code);
      this.#stack.push({ file: await this.#makeDirectory(path), path });
      return undefined;
    }
    try {
      // First of all, and from memory: what is mounted there may never answer.
      if (!this.#rules.crossMounts && mountIdOf(file.fd) !== this.#mountId) {
        throw this.error('EXDEV', 'it leads into another mount');
      }
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

  /** Between its making and its opening another may take its name: then it is left as it is, if it is a directory at all. */
  async #makeDirectory(path: string): Promise<fsp.FileHandle> {
    try {
      await fsp.mkdir(systemPath(path), { mode: this.#mode });
    } catch (error) {
      throw this.error(errorCode(error) ?? 'EIO');
    }
    const flags = FIND | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const file = await fsp.open(systemPath(path), flags).catch((error: unknown) => {
      throw this.error(errorCode(error) ?? 'EIO');
    });
    try {
      const { mode, uid, nlink } = await file.stat();
      const isAsBorn = (mode & 0o1777) === (this.#mode & 0o1777 & ~process.umask()) && nlink <= 2;
      if ((mode & 0o7777) !== this.#mode && isAsBorn && uid === process.geteuid?.()) {
        // By its descriptor: not even root could be led to another one.
        await (onLinux ? fsp.chmod(`/proc/self/fd/${file.fd}`, this.#mode) : file.chmod(this.#mode));
      }
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #realDirectory(root: fsp.FileHandle): Promise<string> {
    const path = onLinux ? await fsp.readlink(`/proc/self/fd/${root.fd}`, { encoding: 'buffer' }) : this.#directory;
    return typeof path === 'string' ? path : textOfBytes(path);
  }

  /** Whatever it is by now, it is followed in here only. */
  async #targetOf(path: string): Promise<string> {
    try {
      return textOfBytes(await fsp.readlink(systemPath(path), { encoding: 'buffer' }));
    } catch (error) {
      throw this.error(errorCode(error) ?? 'EIO');
    }
  }

  #at(): string {
    return `${this.#directory}/${this.#path}`;
  }

  error(code: string, detail?: string): Error {
    return systemError(code, 'open', this.#at(), detail);
  }
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
