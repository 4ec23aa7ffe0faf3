import { AsyncError } from './errors.ts';

/**
 * The rule for `start` that all packages share: a component starts once. A second call is refused, also after the first has ended; a
 * program that wants the work again makes a new component.
 */
export class StartOnce {
  readonly #component: string;
  #isStarted = false;

  /** @param component the class that starts, for the message */
  constructor(component: string) {
    this.#component = component;
  }

  /**
   * Called first in `start`.
   * @throws AsyncError `AlreadyStarted` for every call but the first
   */
  begin(): void {
    if (this.#isStarted) throw new AsyncError('AlreadyStarted', `${this.#component}: start was called before`);
    this.#isStarted = true;
  }
}
