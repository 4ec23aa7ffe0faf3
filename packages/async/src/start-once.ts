import { AsyncError } from './errors.ts';

/**
 * Enforces a rule shared by all packages: a component can be started only once. A second call of `start` is rejected,
 * even after the first has ended. A program that needs the work again creates a new component.
 */
export class StartOnce {
  readonly #component: string;
  #isStarted = false;

  /** @param component class that is started, for the message */
  constructor(component: string) {
    this.#component = component;
  }

  /**
   * Records a start of the component. `start` of the component must call this method first.
   * @throws AsyncError `AlreadyStarted` at every call but the first
   */
  begin(): void {
    if (this.#isStarted) throw new AsyncError('AlreadyStarted', `${this.#component}: start was already called`);
    this.#isStarted = true;
  }
}
