import { posix } from 'node:path';
import { ConfigError } from './error.ts';

/**
 * Reads the configuration files, also again while the kubelet runs. `readFile` must therefore bound the size, and fail
 * for a FIFO instead of waiting for a writer.
 */
export interface ConfigReader {
  readFile(path: string): Promise<Uint8Array>;
  readdir(path: string): Promise<readonly { readonly name: string; readonly kind: string }[]>;
}

/** The drop-in files of a directory, and the files that were skipped because of their names. */
export interface DropInFiles {
  readonly files: readonly string[];
  readonly skipped: readonly string[];
}

/**
 * Finds the `*.conf` files of a directory and its subdirectories. The entries of each directory are sorted by their
 * bytes (Go's `filepath.WalkDir`).
 *
 * @throws ConfigError `read`
 */
export async function findDropIns(directory: string, fs: Pick<ConfigReader, 'readdir'>): Promise<DropInFiles> {
  const files: string[] = [];
  const skipped: string[] = [];
  await walk(directory);
  return { files, skipped };

  async function walk(at: string): Promise<void> {
    const entries = [...(await list(at, fs))].sort((a, b) => compareBytes(a.name, b.name));
    for (const { name, kind } of entries) {
      const path = posix.join(at, name);
      if (kind === 'directory') await walk(path);
      // Go treats the whole name `.conf` as an extension, so such a file is a drop-in.
      else if (name === '.conf' || posix.extname(name) === '.conf') files.push(path);
      else skipped.push(path);
    }
  }
}

async function list(path: string, fs: Pick<ConfigReader, 'readdir'>): ReturnType<ConfigReader['readdir']> {
  try {
    return await fs.readdir(path);
  } catch (cause) {
    throw readError(path, cause);
  }
}

/** Returns the error for a file or directory that cannot be read, with the system's reason. */
export function readError(path: string, cause: unknown): ConfigError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const origin = { source: 'file', file: path, line: 0, column: 0 } as const;
  return new ConfigError('read', [{ path: '', message: `cannot be read: ${reason}`, origin }], { cause });
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
