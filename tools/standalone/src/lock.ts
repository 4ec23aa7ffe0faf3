import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';

/**
 * Locks a directory for this process. The lock is an abstract Unix socket, which the kernel releases when the process
 * exits for any reason, so no lock file is left behind.
 * @returns the lock, or `undefined` if another process holds it
 */
export async function lockDirectory(directory: string): Promise<{ release(): Promise<void> } | undefined> {
  const digest = createHash('sha256')
    .update(await realpath(directory))
    .digest('hex');
  const server = createServer((socket) => socket.destroy());
  if (!(await listens(server, `\0node-agent-standalone-${digest}`))) return undefined;
  server.unref();
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

function listens(server: Server, name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(name, () => resolve(true));
  });
}
