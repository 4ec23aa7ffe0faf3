import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

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

/** The page of a selection, in the directory of its reports. */
export const PAGE = 'report.md';

/**
 * Keeps a directory for the reports of this command. An earlier page goes first: where nothing comes of the runs, it would be read
 * for theirs.
 * @throws Error where another command writes there
 */
export async function takeReports(directory: string): Promise<void> {
  if ((await claim(directory)) === undefined)
    throw new Error(`another run writes to ${directory}: --output DIR has this one write elsewhere`);
  await rm(join(directory, PAGE), { force: true });
}
