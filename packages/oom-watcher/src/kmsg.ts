import { constants, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** The kernel log, as it is read. */
export interface KmsgFile {
  /** Reads one record, and never waits. @throws errors with a `code`: `EAGAIN` where there is none yet, `EPIPE` where some were lost */
  read(buffer: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** Opens the kernel log, at the oldest record that there is. @throws errors with a `code`: `ENOENT`, `EPERM`, ... */
export type OpenKmsg = () => Promise<KmsgFile>;

/** Opens `/dev/kmsg`, or a file like it, so that no read of it waits: it is read at once, of the kernel's memory. */
export async function openKmsg(path = '/dev/kmsg'): Promise<KmsgFile> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    read: async (buffer) => readSync(file.fd, buffer, 0, buffer.length, null),
    close: () => file.close(),
  };
}
