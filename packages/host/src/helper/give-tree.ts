import { chmodSync, chownSync, closeSync, constants, fstatSync, lchownSync, openSync } from 'node:fs';
import { systemPath } from '../byte-names.ts';
import { mountIdOf, O_PATH } from '../mount-id.ts';
import { errorCode, systemError } from '../system-error.ts';
import type { HeldDirectory } from '../tree-removal.ts';
import { walkTree } from '../tree-walk.ts';
import type { GivenTree } from './protocol.ts';
import { SwiftDirectory } from './swift-directory.ts';

/** Each directory that is held on the way takes two descriptors, of at least a thousand. */
const MAX_DEPTH = 400;

const GROUP_MAY = 0o660;
/** What is made in a directory is the group's too. */
const GROUP_MAY_ENTER = 0o2110;

/**
 * Gives what is in a directory, with all below it, to a group that may read and write it, and enters no mount (`pkg/volume/volume_linux.go`).
 * The directory itself is given last: it is the group's where all of it is. What is changed is what was looked at, by its descriptor:
 * nobody who writes in the tree can have anything else changed (W3). Linux only.
 */
export async function giveTree(path: string, gid: number, onPortion: () => Promise<void>): Promise<GivenTree> {
  const root = SwiftDirectory.open(systemPath(path), path, onPortion);
  const given = { entries: 0, failed: 0, failure: '' };
  const failed = (error: unknown, at: string): void => {
    given.failed++;
    given.failure ||= `${errorCode(error) ?? 'EIO'} ${at}`;
  };
  try {
    const rootFd = openSync(root.handle, O_PATH);
    try {
      const mount = mountIdOf(rootFd);
      const limits = {
        maxDepth: MAX_DEPTH,
        deeper: true,
        maxEntries: Number.POSITIVE_INFINITY,
        isOver: () => false,
      };
      const sawAll = await walkTree(root, limits, (directory, name) => {
        given.entries++;
        try {
          giveEntry(directory, name, gid, mount);
        } catch (error) {
          if (errorCode(error) !== 'ENOENT') failed(error, directory.path);
        }
      });
      if (!sawAll) throw systemError('ENAMETOOLONG', 'chown', path, 'too much of it lies too deep');
      give(rootFd, gid);
      given.entries++;
    } finally {
      closeSync(rootFd);
    }
    return given;
  } finally {
    await root.close();
    SwiftDirectory.leave();
  }
}

function giveEntry(directory: HeldDirectory, name: string, gid: number, mount: string): void {
  const at = Buffer.concat([Buffer.from(`${directory.handle}/`), Buffer.from(name, 'latin1')]);
  const fd = openSync(at, O_PATH | constants.O_NOFOLLOW);
  try {
    if (mountIdOf(fd) !== mount) return;
    // A link has no mode of its own; it is not followed, whatever it is by now.
    if (fstatSync(fd).isSymbolicLink()) lchownSync(at, -1, gid);
    else give(fd, gid);
  } finally {
    closeSync(fd);
  }
}

function give(fd: number, gid: number): void {
  const stats = fstatSync(fd);
  const handle = `/proc/self/fd/${fd}`;
  chownSync(handle, -1, gid);
  // After it, which takes setuid and setgid away.
  chmodSync(handle, (stats.mode & 0o7777) | GROUP_MAY | (stats.isDirectory() ? GROUP_MAY_ENTER : 0));
}
