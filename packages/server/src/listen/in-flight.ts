/** Counts the requests of each client that are under way, so that no client takes them all. */
export class InFlightLimit {
  readonly #limit: number;
  readonly #underWay = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many clients have requests under way. */
  get clients(): number {
    return this.#underWay.size;
  }

  /** Counts a request in; `undefined` where the client has as many as it may. Disposing of it counts it out. */
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
