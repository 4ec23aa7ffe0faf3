import { type Clock, sleep } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { CgroupError } from './errors.ts';
import { groupProcesses, groupTree } from './group-files.ts';

/** Killed processes need time to exit: the first delay is 1 ms, all delays together are 1 s. */
const FIRST_DELAY_MS = 1;
const TRIES = 10;

/** Dependencies of the functions that remove cgroups. */
export interface RemoverComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'exists' | 'remove'>;
  readonly clock: Clock;
}

/**
 * Kills the processes of a cgroup and removes it. Repeats while a process or cgroup is left, because a process may have
 * forked before it was killed.
 * @param directories the cgroup's directories, one per hierarchy
 * @param kill kills all processes in the cgroup and its descendants
 * @throws CgroupError `NotRemoved`; the signal's reason
 */
export async function removeGroup(
  { fs, clock }: RemoverComponents,
  directories: readonly string[],
  kill: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let delayMs = FIRST_DELAY_MS;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    await kill();
    const failed: { readonly path: string; readonly err: unknown }[] = [];
    for (const directory of directories) {
      for (const path of (await groupTree(fs, directory)).reverse()) {
        await fs.remove(path).catch((err: unknown) => {
          if (!isMissing(err)) failed.push({ path, err });
        });
      }
    }
    const [first] = failed;
    if (first === undefined) return;
    if (tries === TRIES || !failed.every(({ err }) => isBusy(err))) {
      const left = await processesLeft(fs, directories);
      const processes = left.length > 0 ? `, with processes ${left.join(', ')}` : '';
      const message = `failed to remove cgroup ${first.path}${processes}: ${errorText(first.err)}`;
      throw new CgroupError('NotRemoved', message, first.err);
    }
    await sleep(clock, delayMs, signal);
    delayMs *= 2;
  }
}

/**
 * Kills the processes of a cgroup, and repeats while any process is left.
 * @throws CgroupError `NotRemoved`; the signal's reason
 */
export async function emptyGroup(
  { fs, clock }: RemoverComponents,
  directories: readonly string[],
  kill: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let delayMs = FIRST_DELAY_MS;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const left = await processesLeft(fs, directories);
    if (left.length === 0) return;
    if (tries > TRIES) {
      const message = `failed to empty cgroup ${directories[0]}, with processes ${left.join(', ')}: they do not exit`;
      throw new CgroupError('NotRemoved', message);
    }
    await kill();
    await sleep(clock, delayMs, signal);
    delayMs *= 2;
  }
}

/** Returns all processes of these cgroups and their descendants, each once. */
export async function processesLeft(
  fs: RemoverComponents['fs'],
  directories: readonly string[],
): Promise<readonly number[]> {
  const all = new Set<number>();
  for (const directory of directories) {
    for (const path of await groupTree(fs, directory)) {
      for (const pid of await groupProcesses(fs, path)) all.add(pid);
    }
  }
  return [...all];
}

/**
 * Returns whether the error means that a cgroup has processes or children; plain directories report the latter as
 * ENOTEMPTY.
 */
function isBusy(err: unknown): boolean {
  return ['EBUSY', 'ENOTEMPTY', 'EINTR'].includes(errorCode(err) ?? '');
}
