import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/**
 * Flag that opens a path without calling its file system. Node's constants lack the flag, but its value is the same on
 * all Linux architectures that Node supports.
 */
export const O_PATH = 0o10000000;

export const onLinux: boolean = process.platform === 'linux';

/**
 * The kernel's text for an open file or directory is about 60 bytes. Locks and similar lines come after the needed
 * field.
 */
const buffer = Buffer.alloc(512);

/**
 * Returns the ID of the mount through which an open file was reached. All subvolumes of a btrfs mount share the ID,
 * although their device numbers differ. Each bind mount has its own ID, although its device number is the same. The
 * kernel answers from memory, whatever the state of the file system. On other systems than Linux the device number is
 * used instead.
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
