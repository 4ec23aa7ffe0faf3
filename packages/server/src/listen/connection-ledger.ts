/** The ways to end a connection. */
export interface ConnectionEnds {
  /** Closes the connection immediately. */
  destroy(): void;
  /**
   * Closes the connection when no request is in progress, or immediately if the protocol does not show whether a
   * request is.
   */
  close?(): void;
}

interface Connection {
  ends: ConnectionEnds;
  /** The number of requests in progress. */
  busy: number;
  /**
   * Approximate memory that the server holds for the requests of a stranger (a connection without an authorized
   * request): incomplete heads, and heads of unanswered requests.
   */
  headBytes: number;
  /**
   * The total number of bytes copied to assemble request heads: each received piece of a head copies all pieces before
   * it.
   */
  copiedBytes: number;
}

/**
 * The approximate memory of a request in addition to its head. This memory is counted too, because a stranger may send
 * the next request before the last is answered.
 */
const REQUEST_BYTES = 4096;
/**
 * Limit of the bytes copied for one stranger's request heads. A head of 1 MiB in pieces of 4 KiB is copied 128 times,
 * which is half of the limit.
 */
const MAX_COPIED_BYTES = 256 * 1024 * 1024;

/**
 * Tracks a server's connections. The number of strangers (connections that have not yet sent an authorized request) is
 * limited: beyond the limit, the oldest stranger is closed. A flood therefore closes mainly its own connections, and
 * authorized clients are strangers only briefly.
 */
export class ConnectionLedger {
  readonly #maxStrangers: number;
  readonly #connections = new Map<string, Connection>();
  /** IDs of the strangers' connections, oldest first. */
  readonly #strangers = new Set<string>();
  readonly #maxHeadBytes: number;
  /** The sum of `headBytes` of all strangers. */
  #headBytes = 0;
  #isEnding = false;

  /** @param maxHeadBytes the limit of the bytes held for requests of all strangers together. Default: no limit */
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

  /**
   * Adds a new connection, whose client counts as a stranger. If there are too many strangers, the oldest stranger's
   * connection is closed.
   * @param key identifies the connection by the addresses of both ends
   */
  opened(key: string, ends: ConnectionEnds): void {
    this.#connections.set(key, { ends, busy: 0, headBytes: 0, copiedBytes: 0 });
    this.#strangers.add(key);
    const [oldest] = this.#strangers;
    if (this.#strangers.size > this.#maxStrangers && oldest !== undefined) this.#drop(oldest);
  }

  /**
   * Counts a piece of a request head from a stranger. A stranger's connection is closed if assembling its head takes
   * too much copying. If all strangers together hold too much memory, the stranger that holds most is closed. In a
   * flood of long heads, that is never a client with heads of ordinary length. Nothing is counted for trusted
   * connections.
   */
  receivedPiece(key: string, bytes: number): void {
    const connection = this.#hold(key, bytes);
    if (connection === undefined) return;
    connection.copiedBytes += connection.headBytes;
    if (connection.copiedBytes > MAX_COPIED_BYTES) this.#drop(key);
  }

  /** Adds or replaces ways to end the connection, once its protocol is known. */
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

  /** Returns whether a request is in progress on the connection. */
  isBusy(key: string): boolean {
    return (this.#connections.get(key)?.busy ?? 0) > 0;
  }

  /**
   * Counts a request in progress until the returned value is disposed.
   * @param headBytes the length of its head, unless `receivedPiece` has counted it
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

  /** Closes idle connections now, and each other connection when its requests are done. */
  end(): void {
    this.#isEnding = true;
    for (const connection of this.#connections.values()) endWhenIdle(connection);
  }

  /** Closes all connections immediately. */
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

  /** Returns the stranger that holds most bytes. */
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
