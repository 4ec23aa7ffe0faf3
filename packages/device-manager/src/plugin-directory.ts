import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';

/**
 * Takes the sockets of the directory away: an earlier kubelet's own, and those of its plugins, which register anew when they see the new
 * one (`CleanupPluginDirectory`, `manager.go`). Anything else stays, as others keep files there: the checkpoint, directories, what leads nowhere.
 * @throws the file system's error of the first that could not be removed
 */
export async function removeSockets(
  fs: Pick<FileSystem, 'readdir' | 'stat' | 'remove'>,
  directory: string,
  logger: Pick<Logger, 'error'>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const { name, kind } of await fs.readdir(directory)) {
    const path = `${directory}/${name}`;
    try {
      // A link to a socket is one too.
      const isSocket = kind === 'socket' || (kind === 'symlink' && (await fs.stat(path)).kind === 'socket');
      if (!isSocket) continue;
    } catch (err) {
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
