import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { inPath, type Missing, missingPrograms } from './programs.ts';
import type { Say } from './runtimes/node-runtime.ts';

/**
 * Sees to it that a private runtime can be run: installs the distribution's packages of what is missing, where it is a
 * Debian-like one, after saying so.
 * @returns why it cannot be run; `undefined` where it can
 */
export async function ensurePrograms(logFile: string, say: Say): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'containers run on Linux alone';
  if (process.getuid?.() !== 0) return 'this is not root';
  const missing = await missingPrograms();
  if (missing.length === 0) return undefined;
  if (!(await inPath('apt-get'))) return `${listOf(missing)} not installed, and there is no apt-get to install with`;
  const packages = missing.map(({ aptPackage }) => aptPackage);
  say(`not installed: ${listOf(missing)}. Installing the packages ${packages.join(', ')} with apt-get`);
  const install = ['install', '--yes', '--no-install-recommends', ...packages];
  // The lists of packages may be absent or old; they are fetched only where it takes that.
  if (!(await aptGet(install, logFile))) {
    await aptGet(['update'], logFile);
    if (!(await aptGet(install, logFile))) {
      return `${listOf(missing)} not installed, and apt-get fails: ${await lastLine(logFile)} (all of it in ${logFile})`;
    }
  }
  const still = await missingPrograms();
  return still.length === 0 ? undefined : `${listOf(still)} not installed, and the packages did not bring that`;
}

function listOf(missing: readonly Missing[]): string {
  return missing.map(({ what }) => what).join(', ');
}

function aptGet(args: readonly string[], logFile: string): Promise<boolean> {
  const log = openSync(logFile, 'a');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const child = spawn('apt-get', args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('exit', (code) => resolve(code === 0));
  });
}

async function lastLine(logFile: string): Promise<string> {
  const lines = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? 'it says nothing';
}
