import { constants } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { systemPath, textOfBytes } from './byte-names.ts';
import { kindOf } from './file-stat.ts';
import type { BeneathOptions, FileKind } from './file-system.ts';
import { LinkRule, type PathName, pathNames } from './link-rule.ts';
import { mountIdOf, O_PATH, onLinux } from './mount-id.ts';
import { errorCode, systemError } from './system-error.ts';

/** Flags that open a path without side effects: with O_PATH on Linux, otherwise non-blocking. */
const FIND = onLinux ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Largest number of directories held open along a path, so that a user who creates deep directories cannot exhaust this
 * process's descriptors.
 */
const MAX_HELD = 256;

/**
 * Opens only files and directories, for reading. The kind of the path's target is checked before the real open, because
 * opening a FIFO blocks until there is a writer, and opening a device may have any effect. The checked and the opened
 * object are the same.
 * @throws ENXIO for a FIFO, a socket or a device
 */
export async function openForReading(path: string): Promise<fsp.FileHandle> {
  const found = await fsp.open(systemPath(path), FIND);
  return await opened(found, path, ['file', 'directory']);
}

/**
 * Opens a file below a directory in which others may change every name at any time. Each name is looked up in the open
 * parent directory, so that the walk continues with exactly the object that was checked. @see FileSystem.openBeneath
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

/** Rules of a {@link holdBeneath} walk. */
export interface HoldingOptions {
  /** Whether missing directories are created, each with the mode of `directory`. */
  readonly makeDirectories: boolean;
  /**
   * Whether other mounts are entered, including automounts that are mounted on access (openat(2)). Entering may block
   * forever.
   */
  readonly crossMounts: boolean;
}

/**
 * Finds the target of a path below a directory in which others may change every name at any time, and holds the target,
 * of any kind, without opening it. @see FileSystem.holdBeneath
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

/** Walks down from the directory. Directories held open along the path are closed at the end. */
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

  /**
   * Walks the whole path. @returns the path's target, which the caller must close; `undefined` for the directory itself
   */
  async walk(): Promise<fsp.FileHandle | undefined> {
    const root = await fsp.open(systemPath(this.#directory), FIND | constants.O_DIRECTORY);
    this.#stack.push({ file: root, path: this.#directory });
    if (!this.#rules.crossMounts) this.#mountId = mountIdOf(root.fd);
    if (this.#rules.makeDirectories) this.#mode = (await root.stat()).mode & 0o7777;
    const links = new LinkRule(this.#rules.links, () => this.#realDirectory(root));
    // Names that the walk has still to enter, the last name first.
    const pending = pathNames(this.#path, false);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next.name === '..') {
        const step = links.parent(this.#stack.length === 1);
        if (step === 'out') throw this.error('EXDEV', 'the path leads out of its directory');
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

  /** Returns the start directory, which the caller must close. */
  async takeRoot(): Promise<fsp.FileHandle> {
    const root = this.#stack.pop();
    if (root === undefined) throw this.error('ENOENT');
    return root.file;
  }

  /** Closes the open directories except the first `keep` ones. */
  async close(keep = 0): Promise<void> {
    for (const { file } of this.#stack.splice(keep)) await file.close();
  }

  /** Enters one name. @returns the link's target if the name is a symlink; the walk then stays in its directory */
  async #enter({ name, ofLink }: PathName): Promise<string | undefined> {
    const parent = this.#stack.at(-1);
    if (parent === undefined) throw this.error('ENOENT');
    if (this.#stack.length > MAX_HELD + 1) throw this.error('ENAMETOOLONG', 'the path is too deep');
    const path = `${onLinux ? `/proc/self/fd/${parent.file.fd}` : parent.path}/${name}`;
    if (this.#rules.crossMounts) await fsp.lstat(systemPath(`${path}/`)).catch(() => undefined);
    let file: fsp.FileHandle;
    try {
      file = await fsp.open(systemPath(path), FIND | constants.O_NOFOLLOW);
    } catch (error) {
      const code = errorCode(error) ?? 'EIO';
      if (code === 'ELOOP') return await this.#targetOf(path);
      // A dangling symlink is not replaced by a directory, as with mkdir(2).
      if (code !== 'ENOENT' || ofLink || !this.#rules.makeDirectories) throw this.error(code);
      this.#stack.push({ file: await this.#makeDirectory(path), path });
      return undefined;
    }
    try {
      // The mount is checked first, because any other access may call the mounted file system, which may never respond.
      if (!this.#rules.crossMounts && mountIdOf(file.fd) !== this.#mountId) {
        throw this.error('EXDEV', 'the path leads into another mount');
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

  /**
   * Creates a directory and opens it. If another process replaces the new directory before it is opened, the
   * replacement is used unchanged if it is a directory.
   */
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
        // The mode is set through the descriptor, so that root cannot be tricked into changing another directory.
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

  /**
   * Returns the target of a symlink. Another process may have replaced the symlink, which is safe because only this
   * walk follows the target.
   */
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

/**
 * Opens the found object for reading and closes the O_PATH handle. @throws EISDIR for a directory that `kinds` does not
 * allow; ENXIO for any other kind that it does not allow
 */
async function opened(found: fsp.FileHandle, path: string, kinds: readonly FileKind[]): Promise<fsp.FileHandle> {
  let keep = false;
  try {
    const kind = kindOf(await found.stat());
    if (!kinds.includes(kind)) throw systemError(kind === 'directory' ? 'EISDIR' : 'ENXIO', 'open', path);
    keep = !onLinux;
    // The open is non-blocking, so that it does not even wait for a process that holds a lease on the file.
    return keep ? found : await fsp.open(`/proc/self/fd/${found.fd}`, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const code = errorCode(error);
    throw code === undefined ? error : systemError(code, 'open', path);
  } finally {
    if (!keep) await found.close();
  }
}
