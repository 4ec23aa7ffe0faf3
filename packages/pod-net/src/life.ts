/** How long something may go on: a signal for one listener at a time, which costs nothing. */
export class Life {
  hasEnded = false;
  onEnd: (() => void) | undefined;

  end(): void {
    this.hasEnded = true;
    this.onEnd?.();
  }
}
