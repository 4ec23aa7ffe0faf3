import { posix } from 'node:path';
import type { FileSystem } from '@node-agent/host';

/** The file system operations that fake containers use, for logs and mounts. */
export type FakeCriFileSystem = Pick<
  FileSystem,
  'readFile' | 'writeFile' | 'open' | 'mkdir' | 'readdir' | 'stat' | 'exists' | 'remove'
>;

/** A bind mount of a fake container. */
export interface FileMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
}

/** An error with the code of a system error and busybox's message. */
class FileError extends Error {
  override readonly name = 'FileError';
  readonly code: 'ENOENT' | 'EROFS' | 'EISDIR' | 'ENOTEMPTY';

  constructor(code: FileError['code'], path: string) {
    const words = {
      ENOENT: 'No such file or directory',
      EROFS: 'Read-only file system',
      EISDIR: 'Is a directory',
      ENOTEMPTY: 'Directory not empty',
    };
    super(`${path}: ${words[code]}`);
    this.code = code;
  }
}

/** The files and directories of a container that are not mounts. */
interface OwnTree {
  readonly files: Map<string, Uint8Array>;
  readonly directories: Set<string>;
}

/** The files of a container, as its programs use them. */
export type FilesOfContainer = Pick<ContainerFiles, keyof ContainerFiles>;

/** The root file system of a container: its own files in memory, and mounts, which are files of the host. */
export class ContainerFiles {
  readonly #fs: FakeCriFileSystem;
  readonly #mounts: readonly FileMount[];
  readonly #initial: () => Readonly<Record<string, string>>;
  readonly #readOnlyRoot: boolean;
  /** The container's own files. Absent until a program uses them, which most programs never do. */
  #tree: OwnTree | undefined;

  /** Creates a root file system. @param initial returns the text of the container's own files at its start, by path */
  constructor(
    fs: FakeCriFileSystem,
    mounts: readonly FileMount[],
    initial: () => Readonly<Record<string, string>>,
    readOnlyRoot: boolean,
  ) {
    this.#fs = fs;
    this.#mounts = [...mounts].sort((a, b) => b.containerPath.length - a.containerPath.length);
    this.#initial = initial;
    this.#readOnlyRoot = readOnlyRoot;
  }

  async read(path: string): Promise<Uint8Array> {
    if (path === '/dev/null') return new Uint8Array();
    const host = this.#hostPath(path);
    if (host !== undefined) return this.#fs.readFile(host.path);
    const data = this.#own().files.get(path);
    if (data !== undefined) return data;
    throw new FileError(this.#isDirectory(path) ? 'EISDIR' : 'ENOENT', path);
  }

  async write(path: string, data: Uint8Array, append: boolean): Promise<void> {
    if (path === '/dev/null') return;
    const host = this.#hostPath(path);
    if (host !== undefined) {
      if (host.readOnly) throw new FileError('EROFS', path);
      if (!append) return this.#fs.writeFile(host.path, data);
      const file = await this.#fs.open(host.path, 'a');
      try {
        await file.append(data);
      } finally {
        await file.close();
      }
      return;
    }
    if (this.#readOnlyRoot) throw new FileError('EROFS', path);
    if (this.#isDirectory(path)) throw new FileError('EISDIR', path);
    if (!this.#isDirectory(posix.dirname(path))) throw new FileError('ENOENT', path);
    const before = append ? (this.#own().files.get(path) ?? new Uint8Array()) : new Uint8Array();
    this.#own().files.set(path, Buffer.concat([before, data]));
  }

  async kind(path: string): Promise<'file' | 'directory' | undefined> {
    const host = this.#hostPath(path);
    if (host !== undefined) {
      if (!(await this.#fs.exists(host.path))) return undefined;
      return (await this.#fs.stat(host.path)).kind === 'directory' ? 'directory' : 'file';
    }
    if (this.#own().files.has(path) || path === '/dev/null') return 'file';
    return this.#isDirectory(path) ? 'directory' : undefined;
  }

  async makeDirectory(path: string): Promise<void> {
    const host = this.#hostPath(path);
    if (host !== undefined) {
      if (host.readOnly) throw new FileError('EROFS', path);
      return this.#fs.mkdir(host.path);
    }
    if (this.#readOnlyRoot) throw new FileError('EROFS', path);
    for (let at = path; at !== '/'; at = posix.dirname(at)) this.#own().directories.add(at);
  }

  async remove(path: string): Promise<void> {
    const host = this.#hostPath(path);
    if (host !== undefined) {
      if (host.readOnly) throw new FileError('EROFS', path);
      return this.#fs.remove(host.path);
    }
    if (this.#readOnlyRoot) throw new FileError('EROFS', path);
    if (!this.#own().files.delete(path) && !this.#own().directories.delete(path)) throw new FileError('ENOENT', path);
  }

  /** Returns the sorted names of a directory's entries. */
  async list(path: string): Promise<string[]> {
    const host = this.#hostPath(path);
    if (host !== undefined) return (await this.#fs.readdir(host.path)).map((entry) => entry.name).sort();
    if (!this.#isDirectory(path)) throw new FileError('ENOENT', path);
    const prefix = path === '/' ? '/' : `${path}/`;
    const all = [
      ...this.#own().files.keys(),
      ...this.#own().directories,
      ...this.#mounts.map((mount) => mount.containerPath),
    ];
    const below = all.filter((candidate) => candidate.startsWith(prefix) && candidate !== prefix);
    return [...new Set(below.map((candidate) => candidate.slice(prefix.length).split('/')[0] ?? ''))].sort();
  }

  #own(): OwnTree {
    this.#tree ??= {
      files: new Map(Object.entries(this.#initial()).map(([path, text]) => [path, new TextEncoder().encode(text)])),
      directories: new Set(['/', '/tmp', '/dev', '/etc', '/bin', '/root', '/proc', '/sys', '/home', '/var']),
    };
    return this.#tree;
  }

  #isDirectory(path: string): boolean {
    return (
      this.#own().directories.has(path) || this.#mounts.some((mount) => mount.containerPath.startsWith(`${path}/`))
    );
  }

  #hostPath(path: string): { path: string; readOnly: boolean } | undefined {
    for (const mount of this.#mounts) {
      if (path === mount.containerPath) return { path: mount.hostPath, readOnly: mount.readOnly };
      if (path.startsWith(`${mount.containerPath}/`)) {
        return { path: mount.hostPath + path.slice(mount.containerPath.length), readOnly: mount.readOnly };
      }
    }
    return undefined;
  }
}
