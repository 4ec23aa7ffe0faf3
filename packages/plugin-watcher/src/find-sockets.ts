import { type FileStat, type FileSystem, isMissing } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Content of the plugin directory. */
export interface FoundSockets {
  /** Sockets: path to an identity that changes when another socket is created at the path. */
  readonly sockets: ReadonlyMap<string, string>;
  /** Symlinks, which may lead to sockets: path to an identity that changes when the symlink is replaced. */
  readonly links: ReadonlyMap<string, string>;
  /** All directories, including the root. */
  readonly directories: readonly string[];
}

/** Maximum depth: plugins' sockets are not deeper, and cycles end here. */
const MAX_DEPTH = 8;

/**
 * Searches a directory and its subdirectories for sockets; names that begin with a dot are ignored
 * (`pkg/kubelet/pluginmanager/pluginwatcher`).
 * @param before the previous result: a file that cannot be read now counts as unchanged
 */
export async function findSockets(
  fs: Pick<FileSystem, 'readdir' | 'lstat'>,
  root: string,
  logger: Pick<Logger, 'warn'>,
  before?: FoundSockets,
): Promise<FoundSockets> {
  const sockets = new Map<string, string>();
  const links = new Map<string, string>();
  const directories: string[] = [];
  const look = async (directory: string, depth: number): Promise<void> => {
    directories.push(directory);
    for (const { name, kind } of await fs.readdir(directory)) {
      if (name.startsWith('.')) continue;
      const path = `${directory}/${name}`;
      try {
        if (kind === 'directory' && depth < MAX_DEPTH) await look(path, depth + 1);
        if (kind !== 'socket' && kind !== 'symlink') continue;
        (kind === 'socket' ? sockets : links).set(path, identityOf(await fs.lstat(path)));
      } catch (err) {
        if (isMissing(err)) continue;
        logger.warn({ path, reason: errorText(err) }, 'Failed to read a plugin directory');
        keep(path, before?.sockets, sockets);
        keep(path, before?.links, links);
      }
    }
  };
  await look(root, 0);
  return { sockets, links, directories };
}

/** Keeps the previous entries at a path and below it. */
function keep(path: string, before: ReadonlyMap<string, string> | undefined, now: Map<string, string>): void {
  for (const [known, identity] of before ?? []) {
    if (known === path || known.startsWith(`${path}/`)) now.set(known, identity);
  }
}

/** Returns a value that differs between two files at the same path. */
export function identityOf({ device, inode, modifiedAtMs }: FileStat): string {
  return `${device}:${inode}:${modifiedAtMs}`;
}
