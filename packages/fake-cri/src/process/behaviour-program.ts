import type { Behaviour, ExecResult, PortBehaviour } from '../behaviour.ts';
import { echoService } from '../shell/input-commands.ts';
import type { OutputStream, PortService, ProcessContext, Program } from './process.ts';
import { signals } from './signals.ts';

/**
 * Returns the program of a scripted container: the program prints the scripted output, then exits after `exitAfterMs`
 * or on SIGTERM.
 */
export function behaviourProgram(behaviour: Behaviour): Program {
  if (behaviour.program !== undefined) return behaviour.program;
  return async (process) => {
    const term = signals.SIGTERM ?? 15;
    process.setDisposition(term, behaviour.ignoreTerm === true ? 'ignore' : 'handle');
    // Most containers only wait until they are stopped. A simulated fleet has thousands of containers, so each
    // container allocates as little as possible.
    if (behaviour.output === undefined && behaviour.exitAfterMs === undefined) return terminate(process, behaviour);
    const started = process.clock.monotonic();
    // All of these promises are settled when the process has ended, because the end of the process rejects them.
    const printed = print(process, behaviour, started);
    const ended = runToEnd(process, behaviour, started, printed);
    const terminated = terminate(process, behaviour);
    for (const promise of [printed, ended, terminated]) promise.catch(() => {});
    return Promise.race([ended, terminated]);
  };
}

async function print(process: ProcessContext, behaviour: Behaviour, startedMs: number): Promise<void> {
  // Lines that are due after the exit are never printed.
  const endMs = behaviour.exitAfterMs ?? Number.POSITIVE_INFINITY;
  const lines = (behaviour.output ?? [])
    .filter((line) => (line.atMs ?? 0) <= endMs)
    .sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
  for (const line of lines) {
    await sleepUntil(process, startedMs + (line.atMs ?? 0));
    await write(process, line.stream ?? 'stdout', line.text);
  }
}

async function runToEnd(
  process: ProcessContext,
  behaviour: Behaviour,
  startedMs: number,
  printed: Promise<void>,
): Promise<number> {
  if (behaviour.exitAfterMs === undefined) return process.forever();
  await sleepUntil(process, startedMs + behaviour.exitAfterMs);
  await printed;
  return behaviour.oomKilled === true ? 137 : (behaviour.exitCode ?? 0);
}

async function terminate(process: ProcessContext, behaviour: Behaviour): Promise<number> {
  await process.pause();
  if (behaviour.stopDelayMs !== undefined) await process.sleep(behaviour.stopDelayMs);
  return behaviour.termExitCode ?? 143;
}

async function sleepUntil(process: ProcessContext, atMs: number): Promise<void> {
  const left = atMs - process.clock.monotonic();
  if (left > 0) await process.sleep(left);
}

/**
 * Returns the scripted result of a command that is run in the container. Returns `undefined` if the behaviour does not
 * script the command.
 */
export function scriptedExec(behaviour: Behaviour, command: readonly string[]): Program | undefined {
  const { exec } = behaviour;
  const result = typeof exec === 'function' ? exec(command) : exec?.[command.join(' ')];
  return result && execProgram(result);
}

/** Returns the handler of connections to a scripted port. */
export function portService(does: PortBehaviour): PortService {
  if (does === 'echo') return echoService;
  if (typeof does === 'function') return does;
  return (connection) => {
    connection.on('error', () => {});
    connection.once('data', () => connection.end(does.reply));
  };
}

function execProgram(result: ExecResult): Program {
  return async (process) => {
    if (result.durationMs !== undefined) await process.sleep(result.durationMs);
    if (result.stdout) await write(process, 'stdout', result.stdout);
    if (result.stderr) await write(process, 'stderr', result.stderr);
    return result.exitCode ?? 0;
  };
}

function write(process: ProcessContext, stream: OutputStream, text: string): Promise<void> {
  return process.write(stream, new TextEncoder().encode(text));
}
