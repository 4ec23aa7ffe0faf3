/** Message from a program in namespaces to the program that started it. */
export type Message =
  /** Asks for a link in the network namespace. The answer is {@link ATTACHED}. */
  | { readonly type: 'attach' }
  /** Progress for the user. */
  | { readonly type: 'say'; readonly text: string }
  /** The programs run; for the whole cluster: nodes, services and DNS are ready. */
  | { readonly type: 'ready' }
  /** The program cannot continue. It exits after this message. */
  | { readonly type: 'failed'; readonly reason: string };

/** Line on the program's standard input: the network namespace has its link. */
export const ATTACHED = 'attached';
/** Line on the program's standard input: end without grace periods. The end of the input is a request to end, too. */
export const HURRY = 'hurry';

/** File descriptor on which a program in namespaces writes its messages, one JSON object per line. */
export const MESSAGE_FD = 3;

/** Splits a stream into lines. */
export class Lines {
  #rest = '';

  /** Returns the lines that are complete with this text. */
  push(text: string): readonly string[] {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
