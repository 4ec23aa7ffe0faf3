import { homedir } from 'node:os';
import { join } from 'node:path';

/** Returns the directory of programs that were downloaded or built once. */
export function cacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'node-agent');
}
