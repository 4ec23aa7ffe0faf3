import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';

/**
 * Takes a directory for this process, until it ends however that happens: the lock is a name that the kernel gives back
 * (an abstract socket), and no file can be left behind.
 * @returns what gives it back; `undefined` where another process has it
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
