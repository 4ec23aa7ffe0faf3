import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * Reserves a path for this process with an abstract socket name, which the kernel releases when the process ends for
 * any reason.
 * @returns a function that releases the path earlier; `undefined` if another process holds the path
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

/** File name of a selection's report in its output directory. */
export const PAGE = 'report.md';

/**
 * Reserves a report directory for this command. The report of an earlier command is deleted first: if the runs produced
 * no report, the old report would be mistaken for a report of these runs.
 * @throws Error if another command uses the directory
 */
export async function takeReports(directory: string): Promise<void> {
  if ((await claim(directory)) === undefined)
    throw new Error(`another run writes to ${directory}: choose another directory with --output DIR`);
  await rm(join(directory, PAGE), { force: true });
}
