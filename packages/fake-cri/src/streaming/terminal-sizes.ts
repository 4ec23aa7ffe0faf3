import type { Readable } from 'node:stream';
import type { TerminalSize } from '../process/terminal.ts';

/** Maximum length of an incomplete size message, in bytes. */
const MAX_TEXT_BYTES = 4096;

/**
 * Parses a stream of sizes (`{"Width":80,"Height":24}`, concatenated).
 * @returns a function that adds a listener; the listener also gets the last size received before
 */
export function terminalSizes(from: Readable | undefined): (listener: (size: TerminalSize) => void) => void {
  const listeners: ((size: TerminalSize) => void)[] = [];
  let last: TerminalSize | undefined;
  let text = '';
  from?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = sizeOf(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size === undefined) continue;
      last = size;
      for (const listener of listeners) listener(size);
    }
    if (text.length > MAX_TEXT_BYTES) text = '';
  });
  return (listener) => {
    listeners.push(listener);
    if (last !== undefined) listener(last);
  };
}

function sizeOf(text: string): TerminalSize | undefined {
  try {
    const { Width: columns, Height: rows } = JSON.parse(text);
    return isExtent(columns) && isExtent(rows) ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}

function isExtent(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 16;
}
