import type { Clock } from '@node-agent/async';
import type { HeldPlace } from '../file-system.ts';
import type { ForeignFiles } from '../foreign/foreign-files.ts';
import { GuardedFiles, type GuardedFilesOptions } from '../foreign/guarded-files.ts';
import { MountTable } from '../foreign/mount-table.ts';
import type { Helper } from '../helper/helper-process.ts';
import type { HelperCallName, HelperCalls } from '../helper/protocol.ts';
import { systemError } from '../system-error.ts';
import type { MemoryFileSystem } from './memory-file-system.ts';

type Handlers = {
  readonly [Name in keyof HelperCalls]: (args: HelperCalls[Name]['args']) => Promise<HelperCalls[Name]['value']>;
};

/** The methods of a `MemoryFileSystem`, of this copy of the package or of another copy, that the helper needs. */
export type MemoryForeignHost = Pick<
  MemoryFileSystem,
  | 'stat'
  | 'lstat'
  | 'realpath'
  | 'limitBytes'
  | 'usedBytes'
  | 'mkdir'
  | 'open'
  | 'removeAll'
  | 'mountPoints'
  | 'holdBeneathMounts'
  | 'usage'
  | 'giveToGroup'
  | 'devicesInUse'
>;

/**
 * Simulates a helper process on a file system in memory. If the file system hangs, its calls hang until the helper is
 * killed.
 */
function memoryHelper(fs: MemoryForeignHost): Helper {
  const held = new Map<string, HeldPlace>();
  const end = Promise.withResolvers<void>();
  const handlers: Handlers = {
    stat: ([path]) => fs.stat(path),
    lstat: ([path]) => fs.lstat(path),
    realpath: ([path]) => fs.realpath(path),
    async statfs([path]) {
      await fs.stat(path);
      const totalBytes = Number.isFinite(fs.limitBytes) ? fs.limitBytes : Number.MAX_SAFE_INTEGER;
      const freeBytes = Math.max(totalBytes - fs.usedBytes, 0);
      return { totalBytes, freeBytes, availableBytes: freeBytes, inodes: 0, freeInodes: 0 };
    },
    async makeDirectory([path, mode]) {
      await fs.mkdir(path, { mode });
      return null;
    },
    async makeFile([path]) {
      await (await fs.open(path, 'a')).close();
      return null;
    },
    isDeviceInUse: async ([path]) => fs.devicesInUse.has(path),
    async holdBeneath([directory, path, makeDirectories]) {
      const place = await fs.holdBeneathMounts(directory, path, { makeDirectories: makeDirectories === 1 }, true);
      held.set(place.handle, place);
      return { id: place.handle, handle: place.handle, stat: place.stat };
    },
    async release([id]) {
      await held.get(id)?.close();
      held.delete(id);
      return null;
    },
    treeUsage: ([path, maxEntries]) => fs.usage(path, { maxEntries }),
    async removeTree([path]) {
      await fs.removeAll(path);
      return null;
    },
    giveTree: ([path, gid]) => fs.giveToGroup(path, gid),
  };
  const ended = end.promise.then(() => {
    throw systemError('ESRCH', 'call', 'helper', 'the helper process has exited');
  });
  ended.catch(() => undefined);
  return {
    call<Name extends HelperCallName>(name: Name, args: HelperCalls[Name]['args']) {
      const handler: (args: HelperCalls[Name]['args']) => Promise<HelperCalls[Name]['value']> = handlers[name];
      return Promise.race([handler(args), ended]);
    },
    kill: () => end.resolve(),
    ended: end.promise,
  };
}

/**
 * Returns {@link ForeignFiles} of a file system in memory. Calls that hang fail after the deadline, as measured by the
 * clock.
 */
export function memoryForeignFiles(
  components: { readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>; readonly fs: MemoryForeignHost },
  options?: GuardedFilesOptions,
): ForeignFiles {
  const { clock, fs } = components;
  const mounts = async (): Promise<MountTable> =>
    new MountTable(
      fs
        .mountPoints()
        .map((point, index) => ({ id: `${index + 1}`, parentId: '0', point, type: 'memory', isShared: false })),
    );
  return new GuardedFiles({ clock, startHelper: () => memoryHelper(fs), mounts }, options);
}
