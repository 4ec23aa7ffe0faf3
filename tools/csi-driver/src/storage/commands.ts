import { runProgram } from '@node-agent/host';

/** Time limit of a program in ms. mkfs of a large image is the slowest. */
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 1 << 20;
const SEARCH_PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin';

/**
 * Runs a program of the machine that must succeed. @returns its standard output
 * @throws Error with the program's error output
 */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  const environment = { PATH: `${process.env.PATH ?? ''}:${SEARCH_PATH}`, LC_ALL: 'C' };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const result = await runProgram({ command, args, environment, maxStdoutLength: MAX_OUTPUT }, signal);
  if (result.exitCode === 0) return result.stdout;
  const output = (result.stderr || result.stdout).trim();
  throw new Error(`${command} ${args.join(' ')}: exit code ${result.exitCode}: ${output}`);
}
