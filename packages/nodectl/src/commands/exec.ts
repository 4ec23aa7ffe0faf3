import { printableLine } from '@node-agent/telemetry';
import { asCtlError, CtlError, UsageError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { containerName, findPod } from '../find-pod.ts';
import type { Command } from '../options.ts';
import { carryExec, EXEC_PROTOCOLS } from '../streams/exec.ts';
import { terminalSizes } from '../terminal.ts';
import { type Context, podPath, podsOf } from './context.ts';

type ExecCommand = Extract<Command, { name: 'exec' }>;

/**
 * Runs a command in a container and returns its exit code. @throws CtlError `execFailed` if the command could not be
 * run
 */
export async function runExec(context: Context, command: ExecCommand): Promise<number> {
  try {
    return await run(context, command);
  } catch (error) {
    // Failures of nodectl have an exit code of their own, so that a script does not take them for an exit code of the
    // command.
    if (error instanceof UsageError) throw error;
    throw new CtlError(asCtlError(error).message, exitCodes.execFailed, { cause: error });
  }
}

async function run({ client, options, terminal }: Context, command: ExecCommand): Promise<number> {
  const { stdin, stdout, stderr, signal } = terminal;
  if (command.tty && !(stdin.isTTY && stdout.isTTY)) throw new UsageError('exec: --tty needs a terminal');
  const pod = findPod(await podsOf(client), command.pod, options.namespace);
  const { name, note } = containerName(pod, command.container);
  if (note !== undefined) stderr.write(`${printableLine(note)}\n`);
  const query = execQuery(command);
  const upgraded = await client.upgrade(`${podPath('exec', pod, name)}?${query}`, EXEC_PROTOCOLS);
  const over = new AbortController();
  const isRaw = command.tty && command.stdin;
  if (isRaw) stdin.setRawMode?.(true);
  try {
    return await carryExec(
      upgraded,
      {
        stdin: command.stdin ? stdin : undefined,
        stdout,
        stderr: command.tty ? undefined : stderr,
        ...(command.tty && { sizes: terminalSizes(stdout, over.signal) }),
      },
      signal,
    );
  } finally {
    over.abort();
    if (isRaw) stdin.setRawMode?.(false);
  }
}

/** Returns the query of `/exec`. */
export function execQuery({ argv, stdin, tty }: Pick<ExecCommand, 'argv' | 'stdin' | 'tty'>): string {
  const query = new URLSearchParams({
    output: '1',
    ...(tty ? { tty: '1' } : { error: '1' }),
    ...(stdin && { input: '1' }),
  });
  for (const arg of argv) query.append('command', arg);
  return query.toString();
}
