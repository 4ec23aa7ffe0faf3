import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unmountBelow } from '@node-agent/tools-containerd';
import { freeSubnets } from './subnets.ts';

/** Path of this repository's built kubelet. */
export const BUILT_KUBELET: string = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));

/** Writes progress to the standard error stream. The standard output contains only the results. */
export function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/**
 * Returns the machine's load average of the last minute. If it exceeds `mostPerCpu` per CPU, warns that only ratios are
 * meaningful.
 */
export function machineLoad(mostPerCpu: number): number {
  const load = loadavg()[0] ?? 0;
  const isBusy = load > cpus().length * mostPerCpu;
  if (isBusy) say(`the machine is busy (load ${load.toFixed(1)}): only ratios are meaningful`);
  return load;
}

/** Runs the function of a command. If it fails, passes the error's message to `say` and sets the exit code to 1. */
export function runCommand(main: (argv: readonly string[]) => Promise<number>, say: (text: string) => void): void {
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    },
  );
}

/** Calls the listener for every signal that requests the program to end. */
function onEndingSignal(listener: (name: NodeJS.Signals) => void): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => listener(name));
}

/**
 * Runs work with nodes in a temporary directory. The directory and everything mounted in it are removed when the work
 * has ended.
 * @param work receives a signal that is aborted when the program receives a signal or when an error is not handled: if
 * the program died of that error, it would leave runtimes, networks and cgroups behind
 * @throws the reason of the abort
 */
export async function inDirectoryOfItsOwn<T>(
  prefix: string,
  work: (directory: string, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (reason: unknown): void => controller.abort(reason);
  onEndingSignal((name) => abort(new Error(`ended by ${name}`)));
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const) process.on(fault, abort);
  const directory = await mkdtemp(join(tmpdir(), prefix));
  try {
    const result = await work(directory, controller.signal);
    controller.signal.throwIfAborted();
    return result;
  } finally {
    // Unmounts in-memory volumes of pods that a killed kubelet left mounted.
    await unmountBelow(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Returns two subnets for pods that contain no address of this machine. @throws RangeError if all are taken */
export function subnetsForPods(): readonly [string, string] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  return freeSubnets(process.pid, addresses);
}
