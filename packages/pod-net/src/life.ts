/** How long something may go on: a signal for one listener at a time, which costs nothing. */
export class Life {
  hasEnded = false;
  onEnd: (() => void) | undefined;
  /** On the clock that never goes back, when it ends, in ms; not known where absent. */
  readonly deadlineMs: number | undefined;

  constructor(deadlineMs?: number) {
    this.deadlineMs = deadlineMs;
  }

  end(): void {
    this.hasEnded = true;
    this.onEnd?.();
  }
}
