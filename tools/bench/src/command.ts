import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unmountBelow } from '@node-agent/tools-containerd';
import { freeSubnets } from './subnets.ts';

/** This repository's kubelet, as the build leaves it. */
export const BUILT_KUBELET: string = fileURLToPath(new URL('../../../apps/kubelet/dist/main.js', import.meta.url));

/** What happens is told on the standard error stream: the standard output has the results only. */
export function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/** The machine's load of the last minute; with more than `mostPerCpu` it is said that only ratios will mean something. */
export function machineLoad(mostPerCpu: number): number {
  const load = loadavg()[0] ?? 0;
  const isBusy = load > cpus().length * mostPerCpu;
  if (isBusy) say(`the machine is busy (load ${load.toFixed(1)}): only ratios will mean something`);
  return load;
}

/** Runs a command: what it rejects with is told on the standard error stream, and makes its exit code 1. */
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

/** Tells of a signal that ends programs: until it comes, and once more for each that follows. */
function onEndingSignal(listener: (name: NodeJS.Signals) => void): void {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => listener(name));
}

/**
 * Does work with nodes in a directory of its own, which is taken away with all that is mounted in it when the work has ended.
 * @param work its signal is aborted when the program is told to end, and when something fails that nobody waits for: a program that
 * died of that would leave runtimes, networks and groups. @throws what has aborted it
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
    // Volumes in memory of pods that a kubelet had no time to take away.
    await unmountBelow(directory);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Two networks for pods, of which this machine has no address. @throws RangeError where all are taken */
export function subnetsForPods(): readonly [string, string] {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  return freeSubnets(process.pid, addresses);
}
