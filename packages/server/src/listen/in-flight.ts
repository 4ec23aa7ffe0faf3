/** Limits the concurrent requests of each client, so that no client can use up the capacity of the server. */
export class InFlightLimit {
  readonly #limit: number;
  readonly #underWay = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The number of clients with requests in progress. */
  get clients(): number {
    return this.#underWay.size;
  }

  /** Counts a request until the returned value is disposed. Returns `undefined` if the client has reached the limit. */
  enter(client: string): Disposable | undefined {
    const count = this.#underWay.get(client) ?? 0;
    if (count >= this.#limit) return undefined;
    this.#underWay.set(client, count + 1);
    let isIn = true;
    return {
      [Symbol.dispose]: () => {
        if (!isIn) return;
        isIn = false;
        const left = (this.#underWay.get(client) ?? 1) - 1;
        if (left === 0) this.#underWay.delete(client);
        else this.#underWay.set(client, left);
      },
    };
  }
}
