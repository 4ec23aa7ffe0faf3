/**
 * Returns the content of a log line `2026-01-01T00:00:00.000000000Z stdout F content`, or in Docker's format
 * `{"log":"content\n","stream":"stdout","time":"..."}`; '' if it has neither format. `P` instead of `F` means that the
 * line continues in the next.
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

/** Content of the end of a log. */
export interface LogTail {
  /** Content without the CRI prefixes, including line ends. */
  readonly text: string;
  /** Whether reading more of the file would not change the text. */
  readonly complete: boolean;
}

/**
 * Returns the content of the last lines of a log, limited to `maxLines` lines and to the last `maxBytes` bytes.
 * @param bytes end of the file
 * @param fromStart whether `bytes` is the whole file
 */
export function tailOfCriLog(bytes: Uint8Array, fromStart: boolean, maxLines: number, maxBytes: number): LogTail {
  const lines = new TextDecoder().decode(bytes).split('\n');
  if (lines.at(-1) === '') lines.pop();
  // If the file starts earlier, the first line is incomplete.
  if (!fromStart) lines.shift();
  const last = lines.slice(-maxLines);
  const text = last.map(written).join('');
  const encoded = Buffer.from(text);
  const complete = fromStart || lines.length > maxLines || encoded.length >= maxBytes;
  return { text: encoded.length <= maxBytes ? text : decodeTail(encoded, maxBytes), complete };
}

/** Decodes the last bytes, without the rest of a cut character. */
function decodeTail(bytes: Uint8Array, maxBytes: number): string {
  let start = bytes.length - maxBytes;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return new TextDecoder().decode(bytes.subarray(start));
}
