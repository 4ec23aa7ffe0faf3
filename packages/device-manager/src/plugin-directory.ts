import { AsyncError, type Clock, withTimeout } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/** How long a link is followed. */
const LINK_MS = 1_000;

/**
 * Takes the sockets of the directory away: an earlier kubelet's own, and those of its plugins, which register anew when they see the new
 * one (`CleanupPluginDirectory`, `manager.go`). Anything else stays, as others keep files there: the checkpoint, directories, what leads nowhere. Where
 * one leads to a file system that does not answer, no more links are followed: plugins can register all the same (W6).
 * @throws the file system's error of the first that could not be removed
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
      // A link to a socket is one too.
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
