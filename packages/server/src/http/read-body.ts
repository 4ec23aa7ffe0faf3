import type { Readable } from 'node:stream';

/** Reads a body to its end; `undefined` where it is longer than `limitBytes`, and then no more of it is read. */
export async function readBody(body: Readable, limitBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > limitBytes) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
