import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Starts a Node.js program in a process of its own, so that its CPU time is not counted for the measured processes, and
 * in its own process group, so that Ctrl-C does not reach it. The program is stopped with `stack`.
 * @returns the first line of the program's output, which means that the program is ready; `undefined` if the program
 * exited before
 */
export async function spawnProgram(
  stack: AsyncDisposableStack,
  file: string,
  args: readonly string[],
): Promise<string | undefined> {
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const ended = once(child, 'exit');
  stack.defer(async () => {
    child.kill();
    await ended;
  });
  const first = await Promise.race([once(createInterface(child.stdout), 'line'), ended.then(() => undefined)]);
  return first === undefined ? undefined : String(first[0]);
}
