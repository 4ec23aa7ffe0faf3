import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Opens what a path names without asking its file system for it: not in Node's constants, and the same on all of Linux's architectures that Node runs on. */
export const O_PATH = 0o10000000;

export const onLinux: boolean = process.platform === 'linux';

/** What the kernel says of an open directory or file is some 60 bytes; locks and the like come after what is wanted of it. */
const buffer = Buffer.alloc(512);

/**
 * What tells the mounts of this machine apart: the id of the mount that an open file was reached through. It is the same
 * for all subvolumes of a btrfs, which differ in their devices, and another one for each bind mount, which do not. Read
 * from memory by the kernel, whatever the file system does. Elsewhere than on Linux the device has to do.
 */
export function mountIdOf(fd: number): string {
  if (onLinux) {
    const info = openSync(`/proc/self/fdinfo/${fd}`, 'r');
    let text: string;
    try {
      text = buffer.toString('latin1', 0, readSync(info, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(info);
    }
    const id = /^mnt_id:\s*(\d+)$/m.exec(text)?.[1];
    if (id !== undefined) return id;
  }
  return `device ${fstatSync(fd).dev}`;
}
