/** `exit`, on its way out of the commands around it. */
export class ShellExit extends Error {
  override readonly name = 'ShellExit';
  readonly status: number;

  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** `break` and `continue`, on their way to the loop around them. */
export class LoopJump extends Error {
  override readonly name = 'LoopJump';
  readonly kind: 'break' | 'continue';

  constructor(kind: 'break' | 'continue') {
    super(`${kind} outside of a loop`);
    this.kind = kind;
  }
}
