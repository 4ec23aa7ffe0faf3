import type { StreamEvents } from '../wire.ts';

/** Encodes a server-sent event (HTML standard, 9.2). JSON contains no line breaks, so one `data` line is enough. */
export function serverSentEvent<K extends keyof StreamEvents>(name: K, data: StreamEvents[K], id?: string): Uint8Array {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return Buffer.from(`${head}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Position in the feed's state: the epoch of the state, and the version of its pods. */
export interface Position {
  readonly epoch: string;
  readonly version: number;
}

/** Formats a feed position as the id of a server-sent event. */
export function formatPosition({ epoch, version }: Position): string {
  return `${epoch}.${version}`;
}

/** Parses the id of the last event that a page got. Returns `undefined` if the page sent no id or an invalid one. */
export function parsePosition(text: string | null | undefined): Position | undefined {
  const [, epoch, version] = /^([0-9a-z-]{1,40})\.(\d{1,15})$/.exec(text ?? '') ?? [];
  return epoch === undefined ? undefined : { epoch, version: Number(version) };
}
