/** A server-sent event. */
export interface ServerEvent {
  readonly name: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Maximum size of an event that is not complete, in characters. */
const MAX_EVENT = 64 * 1024 * 1024;

/**
 * Parses a stream of server-sent events as the kubelet writes them: one `data` line per event. `EventSource` is not
 * used, because it does not expose why a request was rejected.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** Adds bytes of the stream. @returns the events that are complete now @throws Error if an event is too large */
  push(bytes: Uint8Array): readonly ServerEvent[] {
    const blocks = `${this.#rest}${this.#decoder.decode(bytes, { stream: true })}`.split('\n\n');
    this.#rest = blocks.pop() ?? '';
    if (this.#rest.length > MAX_EVENT) throw new Error('an event is too large');
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

function eventOf(block: string): ServerEvent | undefined {
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')] as const;
    }),
  );
  const data = fields.get('data');
  return data === undefined ? undefined : { name: fields.get('event') ?? 'message', id: fields.get('id'), data };
}
