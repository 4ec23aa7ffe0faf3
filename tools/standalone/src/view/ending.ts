import type { EndingPod } from '../end-pods.ts';
import type { Screen } from './screen.ts';
import { cut } from './text.ts';

const PERIOD_MS = 500;
/** A pod that ends sooner is not worth a line. */
const SLOW_MS = 1_000;

/** The pods that are still being ended, and how long each may take yet. */
export function endingLines(left: readonly EndingPod[], forMs: number, width: number): readonly string[] {
  if (left.length === 0) return [];
  return [
    `ENDING    ${left.length} pod${left.length === 1 ? '' : 's'}`,
    ...left.map((pod) => `  ${waitText(pod, forMs)}`),
  ].map((line) => cut(line, width));
}

function waitText({ name, graceSeconds }: EndingPod, forMs: number): string {
  const seconds = Math.ceil((graceSeconds * 1_000 - forMs) / 1_000);
  return seconds > 0
    ? `${name}: killed in ${seconds} s (grace period ${graceSeconds} s)`
    : `${name}: it is being killed`;
}

/** Shows which pods are waited for while they end: in place on a terminal, else a line for each that takes longer than a second. */
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

  /** Takes in which pods are left. */
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
