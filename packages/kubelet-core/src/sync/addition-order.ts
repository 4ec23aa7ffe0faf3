import { isTerminalPhase, type Pod } from '@node-agent/pod-spec';
import { CreationOrder } from './oldest-first.ts';

/**
 * Sorts new pods for their addition: pods that already run, then other pods that may run, then finished pods. Each group
 * is sorted oldest first. Pods are added one by one, so that a long list can be sorted in portions.
 */
export class AdditionOrder {
  readonly #isRunning: (pod: Pod) => boolean;
  readonly #running = new CreationOrder();
  readonly #waiting = new CreationOrder();
  readonly #finished = new CreationOrder();
  readonly #runs = new Set<Pod>();

  /** @param isRunning returns whether the pod was running before it was added */
  constructor(isRunning: (pod: Pod) => boolean) {
    this.#isRunning = isRunning;
  }

  add(pod: Pod): void {
    const runs = this.#isRunning(pod);
    if (runs) this.#runs.add(pod);
    if (isTerminalPhase(pod.status?.phase)) this.#finished.add(pod);
    else (runs ? this.#running : this.#waiting).add(pod);
  }

  /** Returns whether an added pod was running before it was added. */
  runs(pod: Pod): boolean {
    return this.#runs.has(pod);
  }

  sorted(): readonly Pod[] {
    return [...this.#running.pods(), ...this.#waiting.pods(), ...this.#finished.pods()];
  }
}
