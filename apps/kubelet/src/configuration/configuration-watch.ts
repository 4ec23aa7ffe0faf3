import { posix } from 'node:path';
import { abortable, type Clock, linkAbort, sleep, TaskGroup } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import type { Logger } from '@node-agent/telemetry';

/** Delay between a change of a file and the reload, in ms. Editors and package managers write in several steps. */
const SETTLE_MS = 250;
/** Delay before the kubelet tries again to watch a directory that could not be watched, in ms. */
const RETRY_MS = 5_000;

/** Components of {@link watchConfiguration}. */
interface Components {
  readonly fs: Pick<FileSystem, 'watch' | 'readdir'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Calls a listener for each request to read the files now (SIGHUP). @returns a function that removes the listener */
  readonly onRequest: (listener: () => void) => () => void;
  readonly reload: () => Promise<unknown>;
}

/** Paths of the configuration file and of the drop-in directory; '' if not configured. */
interface Watched {
  readonly file: string;
  readonly directory: string;
}

/**
 * Calls `reload` after each change of the configuration file or the drop-in directory, and for each request, until
 * `signal` is aborted. The file's directory is watched, because the file is usually replaced. A file behind a symlink to
 * another directory is read only for a request.
 */
export async function watchConfiguration(
  { fs, clock, logger, onRequest, reload }: Components,
  { file, directory }: Watched,
  signal: AbortSignal,
): Promise<void> {
  let wake = (): void => {};
  let isWoken = false;
  const change = (): void => {
    isWoken = true;
    wake();
  };
  const removeListener = onRequest(() => {
    logger.info({}, 'Reading the configuration again, as requested by SIGHUP');
    change();
  });
  const group = new TaskGroup(signal);
  const watched = [...(file === '' ? [] : [posix.dirname(file)]), ...(directory === '' ? [] : [directory])];
  const components = { fs, clock, logger };
  if (file !== '') group.add((ending) => watchDirectory(components, posix.dirname(file), change, ending));
  if (directory !== '') group.add((ending) => watchTree(components, directory, change, ending));
  group.add(async (ending) => {
    logger.debug({ watched }, 'Watching the configuration');
    while (!ending.aborted) {
      if (!isWoken) {
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        await abortable(woken, ending);
      }
      await sleep(clock, SETTLE_MS, ending);
      isWoken = false;
      // The read of a file on an unresponsive disk must not delay the shutdown.
      await abortable(reload(), ending);
    }
  });
  try {
    await group.ended();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    removeListener();
  }
}

type WatchComponents = Pick<Components, 'fs' | 'clock' | 'logger'>;

/** Watches one directory; a directory that is missing or replaced is watched again later. */
async function watchDirectory(
  { fs, clock, logger }: WatchComponents,
  path: string,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await fs.watch(path, onChange, signal);
    } catch (err) {
      logger.debug({ err, path }, 'Cannot watch a directory of the configuration');
    }
    if (signal.aborted) return;
    await sleep(clock, RETRY_MS, signal);
  }
}

/** Watches a directory and its subdirectories, including subdirectories that are created later. */
async function watchTree(
  components: WatchComponents,
  path: string,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  const inner = new Map<string, AbortController>();
  const group = new TaskGroup(signal);
  const follow = async (): Promise<void> => {
    const entries = await components.fs.readdir(path).catch(() => []);
    const names = entries.flatMap(({ name, kind }) => (kind === 'directory' ? [name] : []));
    for (const [name, ending] of inner) {
      if (names.includes(name)) continue;
      ending.abort();
      inner.delete(name);
    }
    for (const name of names) {
      if (inner.has(name) || signal.aborted) continue;
      const own = new AbortController();
      inner.set(name, own);
      group.add(async (ending) => {
        using either = linkAbort(own.signal, ending);
        await watchTree(components, posix.join(path, name), onChange, either.signal).catch((error: unknown) => {
          if (!either.signal.aborted) throw error;
        });
      });
    }
  };
  group.add((ending) =>
    watchDirectory(
      components,
      path,
      () => {
        void follow();
        onChange();
      },
      ending,
    ),
  );
  await group.ended();
}
