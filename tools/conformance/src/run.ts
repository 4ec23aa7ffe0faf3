import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/**
 * Runs a program that must succeed. @returns its standard output
 * @throws Error with the program's output if it fails
 */
export async function run(
  file: string,
  args: readonly string[],
  options: {
    readonly cwd?: string;
    readonly nice?: boolean;
    /** Variables in addition to the environment of this process. */
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<string> {
  const [command, all] = options.nice ? ['nice', [file, ...args]] : [file, args];
  const { stdout } = await exec(command, [...all], {
    maxBuffer: 64 * 1024 * 1024,
    ...(options.cwd && { cwd: options.cwd }),
    ...(options.env && { env: { ...process.env, ...options.env } }),
  });
  return stdout;
}
