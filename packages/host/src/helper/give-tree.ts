import { chmodSync, chownSync, closeSync, constants, fstatSync, lchownSync, openSync } from 'node:fs';
import { systemPath } from '../byte-names.ts';
import { mountIdOf, O_PATH } from '../mount-id.ts';
import { errorCode, systemError } from '../system-error.ts';
import type { HeldDirectory } from '../tree-removal.ts';
import { walkTree } from '../tree-walk.ts';
import type { GivenTree } from './protocol.ts';
import { SwiftDirectory } from './swift-directory.ts';

/** Each directory held along the path needs two descriptors, and at least a thousand are available. */
const MAX_DEPTH = 400;

const GROUP_MAY = 0o660;
/** The setgid bit makes new entries of a directory belong to the group, too. */
const GROUP_MAY_ENTER = 0o2110;

/**
 * Gives everything in a directory to a group that may read and write it, without entering other mounts
 * (`pkg/volume/volume_linux.go`). The directory itself is changed last: once it belongs to the group, the whole tree
 * does. The checked object is changed by its descriptor, so that a process that writes in the tree cannot redirect the
 * change (W3). Linux only.
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
      if (!sawAll) throw systemError('ENAMETOOLONG', 'chown', path, 'a part of the tree is too deep');
      given.entries++;
      // If a server or a read-only mount refuses the change, the failure is only recorded. The pod starts nevertheless,
      // as upstream.
      try {
        give(rootFd, gid);
      } catch (error) {
        failed(error, path);
      }
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
    // A symlink has no mode of its own and is not followed.
    if (fstatSync(fd).isSymbolicLink()) lchownSync(at, -1, gid);
    else give(fd, gid);
  } finally {
    closeSync(fd);
  }
}

function give(fd: number, gid: number): void {
  const stats = fstatSync(fd);
  const handle = `/proc/self/fd/${fd}`;
  try {
    chownSync(handle, -1, gid);
  } finally {
    // The mode is set after chown, because chown clears setuid and setgid. As in upstream's `changeFilePermission`, the
    // mode is set even if chown failed.
    chmodSync(handle, (stats.mode & 0o7777) | GROUP_MAY | (stats.isDirectory() ? GROUP_MAY_ENTER : 0));
  }
}
