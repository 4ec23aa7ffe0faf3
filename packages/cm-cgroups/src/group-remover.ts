import { type Clock, sleep } from '@node-agent/async';
import { errorCode, type FileSystem, isMissing } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { CgroupError } from './errors.ts';
import { groupProcesses, groupTree } from './group-files.ts';

/** Processes that were killed need a moment until they are gone: 1 ms at first, 1 s in all. */
const FIRST_DELAY_MS = 1;
const TRIES = 10;

/** What groups are removed with. */
export interface RemoverComponents {
  readonly fs: Pick<FileSystem, 'readFile' | 'readdir' | 'exists' | 'remove'>;
  readonly clock: Clock;
}

/**
 * Kills and removes a group, again and again while something is left: a process may have had a child meanwhile.
 * @param directories the group's own, in each hierarchy
 * @param kill kills all that is in them and below
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
 * Kills all that is in a group, again and again while something is left.
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
      const message = `failed to empty cgroup ${directories[0]}, with processes ${left.join(', ')}: they do not end`;
      throw new CgroupError('NotRemoved', message);
    }
    await kill();
    await sleep(clock, delayMs, signal);
    delayMs *= 2;
  }
}

/** Every process of these groups and all below them, once. */
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

/** A group that has processes or groups in it; plain directories say the latter their own way. */
function isBusy(err: unknown): boolean {
  return ['EBUSY', 'ENOTEMPTY', 'EINTR'].includes(errorCode(err) ?? '');
}
