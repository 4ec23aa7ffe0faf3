// Runs the program of a command until it exits.
import { spawn } from 'node:child_process';

/** Interval at which the process checks whether its parent still runs. */
const PARENT_PERIOD_MS = 500;

/**
 * Runs a program that uses the terminal, and resolves with its exit code. SIGTERM, SIGHUP and SIGQUIT are passed on. If
 * the parent of this process exits, the program receives SIGTERM: a shell between npm and this process exits on a
 * signal without passing it on.
 *
 * @param passesInterrupt whether SIGINT is passed on, too. Ctrl-C already reaches the program through the process
 * group, so this is only for a program that treats several signals within a short time as one.
 */
export function runChild(file, args, env, { passesInterrupt = false } = {}) {
  const parent = process.ppid;
  const child = spawn(file, args, { env, stdio: 'inherit' });
  let isEnding = false;
  const passOn = (signal) => {
    isEnding = true;
    child.kill(signal);
  };
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => passOn(signal));
  process.on('SIGINT', () => {
    isEnding = true;
    if (passesInterrupt) child.kill('SIGINT');
  });
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    // A second signal would make the program kill pods immediately.
    if (!isEnding) passOn('SIGTERM');
  }, PARENT_PERIOD_MS);
  return new Promise((resolve) => {
    const end = (code) => {
      clearInterval(watch);
      resolve(code);
    };
    child.on('error', (error) => {
      process.stderr.write(`cannot run ${file}: ${error.message}\n`);
      end(1);
    });
    child.on('exit', (code, signal) => end(code ?? (signal ? 1 : 0)));
  });
}
