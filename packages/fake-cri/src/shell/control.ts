/** Thrown by `exit` to leave the enclosing commands. */
export class ShellExit extends Error {
  override readonly name = 'ShellExit';
  readonly status: number;

  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** Thrown by `break` and `continue` to reach the enclosing loop. */
export class LoopJump extends Error {
  override readonly name = 'LoopJump';
  readonly kind: 'break' | 'continue';

  constructor(kind: 'break' | 'continue') {
    super(`${kind} outside of a loop`);
    this.kind = kind;
  }
}
