import { write } from 'node:fs';

/** Writes all data at the file's position. The kernel may accept only a part per call. */
export async function writeDescriptor(fd: number, data: string | Uint8Array): Promise<void> {
  let rest: Uint8Array = typeof data === 'string' ? Buffer.from(data) : data;
  while (rest.length > 0) rest = rest.subarray(await writeSome(fd, rest));
}

function writeSome(fd: number, data: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, data, (error, length) => (error === null ? resolve(length) : reject(error)));
  });
}
