import { type FileStat, type FileSystem, isMissing } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** What is in a directory of plugins. */
export interface FoundSockets {
  /** By path; the value changes when another socket is in the place of one. */
  readonly sockets: ReadonlyMap<string, string>;
  /** The same of links, which may lead to sockets. */
  readonly links: ReadonlyMap<string, string>;
  /** All directories, the first one included. */
  readonly directories: readonly string[];
}

/** A plugin's socket is not further down, and a link that leads up is not followed. */
const MAX_DEPTH = 8;

/**
 * Looks through a directory and those in it; what begins with a dot is nobody's (`pkg/kubelet/pluginmanager/pluginwatcher`).
 * @param before what was found the last time: what cannot be looked at for once is taken to be as it was
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
        logger.warn({ path, reason: errorText(err) }, 'Could not look at a plugin directory');
        keep(path, before?.sockets, sockets);
        keep(path, before?.links, links);
      }
    }
  };
  await look(root, 0);
  return { sockets, links, directories };
}

/** What was at a path, or beneath it, is there still. */
function keep(path: string, before: ReadonlyMap<string, string> | undefined, now: Map<string, string>): void {
  for (const [known, identity] of before ?? []) {
    if (known === path || known.startsWith(`${path}/`)) now.set(known, identity);
  }
}

/** What differs where another file is in the place of one. */
export function identityOf({ device, inode, modifiedAtMs }: FileStat): string {
  return `${device}:${inode}:${modifiedAtMs}`;
}
