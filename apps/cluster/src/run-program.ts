import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const exec = promisify(execFile);
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/** Runs a program that must succeed. @returns its standard output @throws Error with its output if it fails */
export async function run(file: string, args: readonly string[]): Promise<string> {
  const options = { maxBuffer: MAX_OUTPUT_BYTES, timeout: TIMEOUT_MS, env: withSystemPath(process.env) };
  const { stdout } = await exec(file, [...args], options);
  return stdout;
}

/** Runs a program that may fail. @returns whether it succeeded */
export async function attempt(file: string, args: readonly string[]): Promise<boolean> {
  return run(file, args).then(
    () => true,
    () => false,
  );
}

/** Returns an environment whose PATH includes the system's program directories. */
export function withSystemPath(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, PATH: `${env.PATH ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` };
}
