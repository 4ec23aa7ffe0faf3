/**
 * The helper process of this package. The helper performs calls for its parent that may never return or would block the
 * parent's threads for long. The helper communicates over Node's child process channel (see `helper/protocol.ts`), and
 * exits when the channel is closed or after a period without requests.
 */
import { constants } from 'node:fs';
import * as fsp from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { bytesOfText, systemPath, textOfBytes } from './byte-names.ts';
import { statOf } from './file-stat.ts';
import { fileSystemSize } from './file-system-size.ts';
import { measureOf } from './held-directory.ts';
import { giveTree } from './helper/give-tree.ts';
import { HeldPlaces } from './helper/held-places.ts';
import { type HelperCalls, type HelperRequest, type HelperResponse, toHelperError } from './helper/protocol.ts';
import { SwiftDirectory } from './helper/swift-directory.ts';
import { makeDirectories } from './make-directories.ts';
import { errorCode, isMissing } from './system-error.ts';
import { MAX_DEPTH, removeEntry } from './tree-removal.ts';
import { walkUsage, withRoot } from './tree-usage.ts';

const IDLE_MS = 10_000;
/**
 * Down to this depth, the walk keeps every directory from the root to the current one open, with two descriptors each. At
 * least a thousand descriptors are available.
 */
const USAGE_DEPTH = 400;
/** A progress message is sent after this many portions of names of a removal. */
const PORTIONS_PER_PROGRESS = 64;

type Handlers = {
  readonly [Name in keyof HelperCalls]: (
    args: HelperCalls[Name]['args'],
    onProgress: () => void,
  ) => Promise<HelperCalls[Name]['value']>;
};

const held = new HeldPlaces();

const handlers: Handlers = {
  stat: async ([path]) => statOf(await fsp.stat(systemPath(path))),
  lstat: async ([path]) => statOf(await fsp.lstat(systemPath(path))),
  realpath: async ([path]) => textOfBytes(await fsp.realpath(systemPath(path), { encoding: 'buffer' })),
  statfs: ([path]) => fileSystemSize(path),
  async makeDirectory([path, mode]) {
    const made = await makeDirectories(path, mode);
    // An existing directory keeps its mode.
    if (made !== undefined) await fsp.chmod(systemPath(path), mode);
    return null;
  },
  async makeFile([path]) {
    // The file is opened for appending, so that a file that another process created in the meantime keeps its content.
    await (await fsp.open(systemPath(path), 'a')).close();
    return null;
  },
  async isDeviceInUse([path]) {
    const at = systemPath(path);
    try {
      if (!(await fsp.stat(at)).isBlockDevice()) return false;
      await (await fsp.open(at, constants.O_RDONLY | constants.O_EXCL)).close();
      return false;
    } catch (error) {
      if (errorCode(error) === 'EBUSY') return true;
      if (isMissing(error)) return false;
      throw error;
    }
  },
  holdBeneath: ([directory, path, makeDirectories]) => held.hold(directory, path, makeDirectories === 1),
  async release([id]) {
    await held.release(id);
    return null;
  },
  async treeUsage([path, maxEntries, deadlineMs]) {
    const endMs = performance.now() + deadlineMs;
    const root = SwiftDirectory.open(systemPath(path), path, () => new Promise((resolve) => setImmediate(resolve)));
    try {
      const isOver = (): boolean => performance.now() >= endMs;
      const limits = { maxDepth: USAGE_DEPTH, deeper: true, maxEntries, isOver };
      return withRoot(await walkUsage(root, limits), measureOf(await fsp.stat(root.handle)).bytes);
    } finally {
      await root.close();
      SwiftDirectory.leave();
    }
  },
  async removeTree([path], onProgress) {
    let portions = 0;
    const onPortion = async (): Promise<void> => {
      if (++portions % PORTIONS_PER_PROGRESS === 0) onProgress();
      // Lets the event loop run, because only there a closed channel of the parent is noticed and this process ends.
      if (portions % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    };
    const parent = SwiftDirectory.open(systemPath(dirname(path)), dirname(path), onPortion);
    try {
      const name = Buffer.from(bytesOfText(basename(path))).toString('latin1');
      await removeEntry(parent, name, { maxDepth: MAX_DEPTH, maxEntries: Number.POSITIVE_INFINITY });
    } finally {
      await parent.close();
      SwiftDirectory.leave();
    }
    return null;
  },
  async giveTree([path, gid], onProgress) {
    let portions = 0;
    return await giveTree(path, gid, async () => {
      if (++portions % PORTIONS_PER_PROGRESS === 0) onProgress();
      if (portions % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    });
  },
};

let calls = 0;
let idle = setTimeout(endIfIdle, IDLE_MS);

function end(): void {
  process.exit();
}

/** Exits if nothing is held: a held file, directory or device is in use by the parent or a container. */
function endIfIdle(): void {
  if (held.size === 0) end();
  idle = setTimeout(endIfIdle, IDLE_MS);
}

async function answer({ id, name, args }: HelperRequest): Promise<void> {
  clearTimeout(idle);
  calls++;
  const send = (response: HelperResponse): void => {
    if (process.connected) process.send?.(response);
  };
  try {
    const handler = handlers[name] as (args: HelperRequest['args'], onProgress: () => void) => Promise<unknown>;
    send({ id, value: await handler(args, () => send({ id, progress: true })) });
  } catch (error) {
    send({ id, error: toHelperError(error, String(args[0])) });
  }
  calls--;
  if (calls === 0) idle = setTimeout(endIfIdle, IDLE_MS);
}

process.on('disconnect', end);
process.on('message', (request: HelperRequest) => void answer(request));
