import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { inPath, type Missing, missingPrograms } from './programs.ts';
import type { Say } from './runtimes/node-runtime.ts';

/**
 * Makes sure that a private container runtime can be started. On a Debian-like distribution, installs the packages of
 * missing programs, after printing a message.
 * @param further names of further programs that must be installed; each name is also the name of the package
 * @returns the reason why a private runtime cannot be started, or `undefined` if it can
 */
export async function ensurePrograms(
  logFile: string,
  say: Say,
  further: readonly string[] = [],
): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'containers need Linux';
  if (process.getuid?.() !== 0) return 'not running as root';
  const missing = await missingPrograms(further);
  if (missing.length === 0) return undefined;
  if (!(await inPath('apt-get'))) return `${listOf(missing)} not installed, and apt-get is not available`;
  const packages = missing.map(({ aptPackage }) => aptPackage);
  say(`not installed: ${listOf(missing)}. Installing the packages ${packages.join(', ')} with apt-get`);
  const install = ['install', '--yes', '--no-install-recommends', ...packages];
  // The package lists may be missing or outdated. The package lists are updated only if the installation fails.
  if (!(await aptGet(install, logFile))) {
    await aptGet(['update'], logFile);
    if (!(await aptGet(install, logFile))) {
      return `${listOf(missing)} not installed: apt-get failed: ${await lastLine(logFile)} (full output in ${logFile})`;
    }
  }
  const still = await missingPrograms(further);
  return still.length === 0 ? undefined : `${listOf(still)} not found after installing the packages`;
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
