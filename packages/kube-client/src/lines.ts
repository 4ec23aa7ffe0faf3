/**
 * The lines of a stream of UTF-8, as soon as each is whole. The last one needs no line feed. Empty lines are left out.
 * A line is put together once, from the pieces that it came in, so that a long one costs its length and no more.
 */
export async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      start = end + 1;
      const line = decode(pieces.splice(0));
      if (line !== '') yield line;
    }
    // The rest is copied: a slice would hold the socket's whole buffer for as long as the watch is quiet.
    if (start < chunk.length) pieces.push(chunk.slice(start));
  }
  const last = decode(pieces);
  if (last !== '') yield last;
}

function decode(pieces: readonly Uint8Array[]): string {
  const [first] = pieces;
  if (first === undefined) return '';
  const whole = pieces.length === 1 ? first : Buffer.concat(pieces);
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('utf8').trim();
}

/** All of a body as text. */
export async function readText(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ readonly text: string; readonly sizeBytes: number }> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  const whole = Buffer.concat(pieces);
  return { text: whole.toString('utf8'), sizeBytes: whole.length };
}
