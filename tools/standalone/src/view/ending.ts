import type { EndingPod } from '../end-pods.ts';
import type { Screen } from './screen.ts';
import { cut } from './text.ts';

const PERIOD_MS = 500;
/** Pods that stop within this time are not listed in output without a terminal. */
const SLOW_MS = 1_000;

/** Returns lines with the pods that are still being stopped and the time left to each. */
export function endingLines(left: readonly EndingPod[], forMs: number, width: number): readonly string[] {
  if (left.length === 0) return [];
  return [
    `STOPPING  ${left.length} pod${left.length === 1 ? '' : 's'}`,
    ...left.map((pod) => `  ${waitText(pod, forMs)}`),
  ].map((line) => cut(line, width));
}

function waitText({ name, graceSeconds }: EndingPod, forMs: number): string {
  const seconds = Math.ceil((graceSeconds * 1_000 - forMs) / 1_000);
  return seconds > 0
    ? `${name}: will be killed in ${seconds} s (grace period ${graceSeconds} s)`
    : `${name}: being killed`;
}

/**
 * Shows the pods that are still being stopped. On a terminal the display is updated in place; otherwise one line is
 * printed for each pod that takes longer than a second.
 */
export class EndingView implements Disposable {
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #left: readonly EndingPod[] = [];
  #beganAtMs: number | undefined;
  #said = false;

  constructor(screen: Screen, now: () => number) {
    this.#screen = screen;
    this.#now = now;
    this.#timer = setInterval(() => this.#show(), PERIOD_MS);
  }

  /** Sets the pods that are still being stopped. */
  update(left: readonly EndingPod[]): void {
    this.#beganAtMs ??= this.#now();
    this.#left = left;
    this.#show();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#screen.clear();
  }

  #show(): void {
    if (this.#beganAtMs === undefined) return;
    const forMs = this.#now() - this.#beganAtMs;
    if (this.#screen.isLive) {
      this.#screen.draw(endingLines(this.#left, forMs, this.#screen.width - 1));
    } else if (!this.#said && forMs >= SLOW_MS) {
      this.#said = true;
      for (const pod of this.#left) this.#screen.say(`waiting for ${waitText(pod, forMs)}`);
    }
  }
}
