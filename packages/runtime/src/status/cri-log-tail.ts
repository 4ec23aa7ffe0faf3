/**
 * What was written, of a line `2026-01-01T00:00:00.000000000Z stdout F content`, or in Docker's format
 * `{"log":"content\n","stream":"stdout","time":"..."}`; '' where it is no such line. `P` in the place of `F`: the line goes on in the next.
 */
function written(line: string): string {
  const match = /^\S+ (?:stdout|stderr) (\S+) ?/.exec(line);
  if (match === null) return line.startsWith('{') ? writtenInJson(line) : '';
  const partial = match[1]?.split(':')[0] === 'P';
  return line.slice(match[0].length) + (partial ? '' : '\n');
}

function writtenInJson(line: string): string {
  try {
    const { log }: { readonly log?: unknown } = JSON.parse(line);
    return typeof log === 'string' ? log : '';
  } catch {
    return '';
  }
}

/** What the end of a log says. */
export interface LogTail {
  /** What was written, without the CRI's own words, line ends included. */
  readonly text: string;
  /** Whether more of the file would not change it. */
  readonly complete: boolean;
}

/**
 * What the last lines of a log say: at most so many lines, and at most so many bytes from their end.
 * @param bytes the end of the file
 * @param fromStart whether that is the whole file
 */
export function tailOfCriLog(bytes: Uint8Array, fromStart: boolean, maxLines: number, maxBytes: number): LogTail {
  const lines = new TextDecoder().decode(bytes).split('\n');
  if (lines.at(-1) === '') lines.pop();
  // Where the file begins earlier, the first line is the end of one: its head is missing.
  if (!fromStart) lines.shift();
  const last = lines.slice(-maxLines);
  const text = last.map(written).join('');
  const encoded = Buffer.from(text);
  const complete = fromStart || lines.length > maxLines || encoded.length >= maxBytes;
  return { text: encoded.length <= maxBytes ? text : decodeTail(encoded, maxBytes), complete };
}

/** The last bytes as text, without the rest of a character that was cut. */
function decodeTail(bytes: Uint8Array, maxBytes: number): string {
  let start = bytes.length - maxBytes;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return new TextDecoder().decode(bytes.subarray(start));
}
