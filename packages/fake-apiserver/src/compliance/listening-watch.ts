import assert from 'node:assert/strict';
import { isObject, type JsonObject, textAt } from '../core/json.ts';
import type { HttpTransport } from '../transport.ts';

/** An event of a watch. */
export interface HeardEvent {
  readonly type: string;
  readonly object: JsonObject;
}

const POLL_MS = 20;
const PATIENCE_MS = 15_000;

/** A watch that is read in the background. */
export class ListeningWatch {
  /** The events received so far. */
  readonly heard: HeardEvent[] = [];
  /** Whether the server has ended the watch. */
  ended = false;
  readonly #transport: HttpTransport;
  readonly #path: string;
  readonly #wait: (ms: number) => Promise<void>;
  readonly #stopped = new AbortController();
  #reading: Promise<void> = Promise.resolve();

  constructor(transport: HttpTransport, path: string, wait: (ms: number) => Promise<void>) {
    this.#transport = transport;
    this.#path = path;
    this.#wait = wait;
  }

  async start(): Promise<void> {
    const headers = { accept: 'application/json' };
    const response = await this.#transport.request({ method: 'GET', path: this.#path, headers }, this.#stopped.signal);
    assert.equal(response.status, 200, `watch ${this.#path}`);
    this.#reading = this.#read(response.body);
    // A read error is reported by the method that waits for an event.
    this.#reading.catch(() => {});
  }

  /** Waits until at least `count` matching events have been received. Bookmarks are counted if they match. */
  async until(count: number, fits: (event: HeardEvent) => boolean = () => true): Promise<HeardEvent[]> {
    for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
      const found = this.heard.filter(fits);
      if (found.length >= count) return found;
      if (this.ended) break;
      await this.#wait(POLL_MS);
    }
    throw new assert.AssertionError({
      message: `${this.#path}: expected ${count} events, received ${JSON.stringify(this.summary())}${this.ended ? ' and the end' : ''}`,
    });
  }

  /** Waits until the server ends the watch. */
  async untilEnd(patienceMs: number = PATIENCE_MS): Promise<void> {
    for (let waited = 0; waited < patienceMs && !this.ended; waited += POLL_MS) await this.#wait(POLL_MS);
    assert.ok(this.ended, `${this.#path}: expected the server to end the watch`);
  }

  /** Returns each event as `TYPE name`. */
  summary(): string[] {
    return this.heard.map(({ type, object }) => `${type} ${textAt(object, 'metadata', 'name')}`.trim());
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#reading.catch(() => {});
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of body) {
        rest += decoder.decode(chunk, { stream: true });
        const lines = rest.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const event: unknown = JSON.parse(line);
          assert.ok(isObject(event) && isObject(event.object), line);
          this.heard.push({ type: String(event.type), object: event.object });
        }
      }
    } finally {
      this.ended = true;
    }
  }
}
