import { constants, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** The opened kernel log. */
export interface KmsgFile {
  /**
   * Reads one record without blocking. @throws errors with a `code`: `EAGAIN` if there is no new record, `EPIPE` if
   * records were lost
   */
  read(buffer: Uint8Array): Promise<number>;
  close(): Promise<void>;
}

/** Opens the kernel log at its oldest record. @throws errors with a `code`: `ENOENT`, `EPERM`, ... */
export type OpenKmsg = () => Promise<KmsgFile>;

/**
 * Opens `/dev/kmsg`, or a similar file, in non-blocking mode. Reads are synchronous, because they only copy from kernel
 * memory.
 */
export async function openKmsg(path = '/dev/kmsg'): Promise<KmsgFile> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    read: async (buffer) => readSync(file.fd, buffer, 0, buffer.length, null),
    close: () => file.close(),
  };
}
