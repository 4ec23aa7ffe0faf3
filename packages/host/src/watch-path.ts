import { watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { OnChange } from './file-system.ts';
import { systemError } from './system-error.ts';

/**
 * Reports hints of changes of `path` (inotify, not recursive) until `signal` is aborted. The first hint is given once
 * the watch is established, so that a caller that checks after every hint misses nothing.
 * @throws ENOENT if `path` does not exist, or is no longer the same directory or file
 */
export async function watchPath(path: string, onChange: OnChange, signal: AbortSignal): Promise<void> {
  const watched = await stat(path);
  if (signal.aborted) return;
  const self = basename(path);
  const watcher = watch(path);
  let unlink = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      // inotify follows the inode: if another file has taken the name, the watch would stay silent forever.
      const checkIdentity = async (): Promise<void> => {
        try {
          const now = await stat(path);
          if (now.ino !== watched.ino || now.dev !== watched.dev) reject(systemError('ENOENT', 'watch', path));
        } catch (error) {
          reject(error);
        }
      };
      watcher.on('error', reject);
      watcher.on('change', (event, name) => {
        const changed = typeof name === 'string' ? name : undefined;
        onChange(changed, event === 'rename' ? 'entry' : 'content');
        if (event === 'rename' && (changed === undefined || changed === self)) void checkIdentity();
      });
      const onAbort = (): void => resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      unlink = () => signal.removeEventListener('abort', onAbort);
      onChange(undefined, 'entry');
      void checkIdentity();
    });
  } finally {
    unlink();
    watcher.close();
  }
}
