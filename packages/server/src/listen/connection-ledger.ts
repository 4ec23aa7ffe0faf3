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
  /** Bytes that the server holds of requests of a stranger: begun heads, and requests that are not answered yet. */
  headBytes: number;
  /** Bytes that were copied to put those heads together: each piece of a head copies what came before it. */
  copiedBytes: number;
}

/** What a request takes beside its head, about: a stranger may send the next before the last is answered. */
const REQUEST_BYTES = 4096;
/** A head of 1 MiB in pieces of 4 KiB is copied 128 times. */
const MAX_COPIED_BYTES = 256 * 1024 * 1024;

/**
 * Keeps account of a server's connections. Those of strangers, of whom nobody has shown yet that they may use the server, are
 * few: whoever opens too many loses the oldest, so that a flood closes its own, and who knows their way is no stranger for long.
 */
export class ConnectionLedger {
  readonly #maxStrangers: number;
  readonly #connections = new Map<string, Connection>();
  /** In the order in which they came. */
  readonly #strangers = new Set<string>();
  readonly #maxHeadBytes: number;
  /** The sum of `headBytes` of all strangers. */
  #headBytes = 0;
  #isEnding = false;

  /** @param maxHeadBytes how much is held of the requests of all strangers together, in bytes; without a bound by default */
  constructor(maxStrangers: number, maxHeadBytes: number = Number.POSITIVE_INFINITY) {
    this.#maxStrangers = maxStrangers;
    this.#maxHeadBytes = maxHeadBytes;
  }

  get size(): number {
    return this.#connections.size;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** @param key which connection: both ends' addresses */
  opened(key: string, ends: ConnectionEnds): void {
    this.#connections.set(key, { ends, busy: 0, headBytes: 0, copiedBytes: 0 });
    this.#strangers.add(key);
    const [oldest] = this.#strangers;
    if (this.#strangers.size > this.#maxStrangers && oldest !== undefined) this.#drop(oldest);
  }

  /**
   * Counts a piece of a request head that a stranger has sent. A stranger loses its connection if putting its head together takes
   * too much copying. If strangers hold too much together, the stranger that holds most loses its connection: heads of common
   * length are never the longest in a flood. Nothing is counted for connections that are trusted.
   */
  receivedPiece(key: string, bytes: number): void {
    const connection = this.#hold(key, bytes);
    if (connection === undefined) return;
    connection.copiedBytes += connection.headBytes;
    if (connection.copiedBytes > MAX_COPIED_BYTES) this.#drop(key);
  }

  /** The connection has got as far as to be ended in another way, too. */
  setEnds(key: string, ends: Partial<ConnectionEnds>): void {
    const connection = this.#connections.get(key);
    if (connection !== undefined) connection.ends = { ...connection.ends, ...ends };
  }

  trusted(key: string): void {
    this.#release(this.#connections.get(key));
    this.#strangers.delete(key);
  }

  closed(key: string): void {
    this.#release(this.#connections.get(key));
    this.#connections.delete(key);
    this.#strangers.delete(key);
  }

  /** Whether a request is under way on it. */
  isBusy(key: string): boolean {
    return (this.#connections.get(key)?.busy ?? 0) > 0;
  }

  /**
   * A request is under way; disposing of what is given ends that.
   * @param headBytes how long its head is, unless `receivedPiece` has counted it
   */
  begin(key: string, headBytes: number = 0): Disposable {
    const connection = this.#connections.get(key);
    if (connection !== undefined) connection.busy++;
    this.#hold(key, REQUEST_BYTES + headBytes);
    return {
      [Symbol.dispose]: () => {
        if (connection === undefined) return;
        connection.busy--;
        if (connection.busy === 0) this.#release(connection);
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

  #hold(key: string, bytes: number): Connection | undefined {
    const connection = this.#connections.get(key);
    if (connection === undefined || !this.#strangers.has(key)) return undefined;
    connection.headBytes += bytes;
    this.#headBytes += bytes;
    while (this.#headBytes > this.#maxHeadBytes) this.#drop(this.#longest());
    return connection;
  }

  /** The stranger that holds most bytes. */
  #longest(): string {
    let longest = '';
    let most = -1;
    for (const key of this.#strangers) {
      const { headBytes = 0 } = this.#connections.get(key) ?? {};
      if (headBytes > most) [longest, most] = [key, headBytes];
    }
    return longest;
  }

  /** Closes a stranger's connection. */
  #drop(key: string): void {
    const connection = this.#connections.get(key);
    this.#strangers.delete(key);
    this.#release(connection);
    connection?.ends.destroy();
  }

  #release(connection: Connection | undefined): void {
    if (connection === undefined) return;
    this.#headBytes -= connection.headBytes;
    connection.headBytes = 0;
    connection.copiedBytes = 0;
  }
}

function endWhenIdle({ ends, busy }: Connection): void {
  if (ends.close !== undefined) ends.close();
  else if (busy === 0) ends.destroy();
}
