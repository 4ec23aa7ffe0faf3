import { AsyncError, type Clock, withTimeout } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** Timeout of finding out whether a symbolic link leads to a socket. */
const LINK_MS = 1_000;

/**
 * Removes the sockets in the directory: the socket of an earlier kubelet process and the sockets of its plugins. The
 * plugins register again when they see the new kubelet's socket (`CleanupPluginDirectory`, `manager.go`). Other files
 * are kept: the checkpoint, directories, dangling links. If a link leads to a file system that does not answer, no more
 * links are followed, so that plugins can still register (W6).
 * @throws the file system's error of the first socket that could not be removed
 */
export async function removeSockets(
  fs: Pick<FileSystem, 'readdir' | 'stat' | 'remove'>,
  directory: string,
  { clock, logger }: { readonly clock: Pick<Clock, 'setTimer'>; readonly logger: Pick<Logger, 'error'> },
): Promise<void> {
  const errors: unknown[] = [];
  let followsLinks = true;
  const leadsToSocket = async (path: string): Promise<boolean> =>
    followsLinks && (await withTimeout(clock, LINK_MS, () => fs.stat(path))).kind === 'socket';
  for (const { name, kind } of await fs.readdir(directory)) {
    const path = `${directory}/${name}`;
    try {
      // A link to a socket counts as a socket.
      if (kind !== 'socket' && !(kind === 'symlink' && (await leadsToSocket(path)))) continue;
    } catch (err) {
      if (AsyncError.is(err)) followsLinks = false;
      logger.error({ path, reason: errorText(err) }, 'Failed to stat file');
      continue;
    }
    try {
      await fs.remove(path);
    } catch (err) {
      logger.error({ path, reason: errorText(err) }, 'Failed to remove file');
      errors.push(err);
    }
  }
  if (errors.length > 0) throw errors[0];
}
