import { fstatSync, readFileSync } from 'node:fs';

/** Opens what a path names without asking its file system for it: not in Node's constants, and the same on all of Linux's architectures that Node runs on. */
export const O_PATH = 0o10000000;

export const onLinux: boolean = process.platform === 'linux';

/**
 * What tells the mounts of this machine apart: the id of the mount that an open file was reached through. It is the same
 * for all subvolumes of a btrfs, which differ in their devices, and another one for each bind mount, which do not. Read
 * from memory by the kernel, whatever the file system does. Elsewhere than on Linux the device has to do.
 */
export function mountIdOf(fd: number): string {
  if (onLinux) {
    const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    if (id !== undefined) return id;
  }
  return `device ${fstatSync(fd).dev}`;
}
