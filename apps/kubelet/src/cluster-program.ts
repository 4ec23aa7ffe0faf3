import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Name of the program that runs `kubelet cluster`. The package `@node-agent/cluster` installs the program. */
const PROGRAM = 'kubelet-cluster';
/**
 * Signals that the kubelet passes on to the cluster program. A terminal also sends these signals directly to the
 * cluster program, which treats both copies as one signal.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * Runs `kubelet cluster` by a program of its own, which is installed separately, as git runs `git-NAME`. Returns the
 * program's exit code.
 * @param argv the command line from the word `cluster` on, by which the program knows how it was called
 * @param kubelet path by which this program was called
 * @param path directories of programs, separated by colons
 */
export async function runClusterProgram(argv: readonly string[], kubelet: string, path: string = ''): Promise<number> {
  const directories = [dirname(kubelet), ...path.split(delimiter).filter((directory) => directory !== '')];
  const file = directories.map((directory) => join(directory, PROGRAM)).find(canRun);
  if (file === undefined) {
    process.stderr.write(
      `kubelet: cluster: ${PROGRAM} is neither beside this program nor in PATH; install the npm package @node-agent/cluster\n`,
    );
    return 1;
  }
  // Before the spawn: without these handlers, a signal right after the spawn would end this process only.
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  const child = spawn(file, argv, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
