import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Keeps a path for this process: by a name that the kernel takes back when the process ends, however it does.
 * @returns what gives it back before; `undefined` where the path is kept already
 */
export async function claim(path: string): Promise<(() => Promise<void>) | undefined> {
  const server = createServer();
  const name = `\0node-agent-conformance-${createHash('sha256').update(path).digest('hex')}`;
  server.listen(name).unref();
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
  return async () => {
    await new Promise((resolve) => server.close(resolve));
  };
}
