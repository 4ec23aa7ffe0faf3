/** How a connection is ended. */
export interface ConnectionEnds {
  /** At once. */
  destroy(): void;
  /** When what is under way on it is done; at once where that cannot be said. */
  close?(): void;
}

interface Connection {
  ends: ConnectionEnds;
  /** How many requests are under way on it. */
  busy: number;
}

/**
 * Keeps account of a server's connections. Those of strangers, of whom nobody has shown yet that they may use the server, are
 * few: whoever opens too many loses the oldest, so that a flood closes its own, and who knows their way is no stranger for long.
 */
export class ConnectionLedger {
  readonly #maxStrangers: number;
  readonly #connections = new Map<string, Connection>();
  /** In the order in which they came. */
  readonly #strangers = new Set<string>();
  #isEnding = false;

  constructor(maxStrangers: number) {
    this.#maxStrangers = maxStrangers;
  }

  get size(): number {
    return this.#connections.size;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** @param key which connection: both ends' addresses */
  opened(key: string, ends: ConnectionEnds): void {
    this.#connections.set(key, { ends, busy: 0 });
    this.#strangers.add(key);
    if (this.#strangers.size <= this.#maxStrangers) return;
    for (const oldest of this.#strangers) {
      this.#strangers.delete(oldest);
      this.#connections.get(oldest)?.ends.destroy();
      return;
    }
  }

  /** The connection has got as far as to be ended in another way, too. */
  setEnds(key: string, ends: Partial<ConnectionEnds>): void {
    const connection = this.#connections.get(key);
    if (connection !== undefined) connection.ends = { ...connection.ends, ...ends };
  }

  trusted(key: string): void {
    this.#strangers.delete(key);
  }

  closed(key: string): void {
    this.#connections.delete(key);
    this.#strangers.delete(key);
  }

  /** Whether a request is under way on it. */
  isBusy(key: string): boolean {
    return (this.#connections.get(key)?.busy ?? 0) > 0;
  }

  /** A request is under way; disposing of what is given ends that. */
  begin(key: string): Disposable {
    const connection = this.#connections.get(key);
    if (connection !== undefined) connection.busy++;
    return {
      [Symbol.dispose]: () => {
        if (connection === undefined) return;
        connection.busy--;
        if (this.#isEnding) endWhenIdle(connection);
      },
    };
  }

  /** Ends all connections on which nothing is under way, and the others when it is done. */
  end(): void {
    this.#isEnding = true;
    for (const connection of this.#connections.values()) endWhenIdle(connection);
  }

  /** Ends all connections at once. */
  destroy(): void {
    for (const { ends } of [...this.#connections.values()]) ends.destroy();
  }
}

function endWhenIdle({ ends, busy }: Connection): void {
  if (ends.close !== undefined) ends.close();
  else if (busy === 0) ends.destroy();
}
