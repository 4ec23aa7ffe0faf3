/** Message from a program in namespaces to the program that started it. */
export type Message =
  /** Requests a link in the network namespace. The parent responds with {@link ATTACHED}. */
  | { readonly type: 'attach' }
  /** Reports progress to the user. */
  | { readonly type: 'say'; readonly text: string }
  /** Reports that the program's processes run. For the whole cluster: nodes, services and DNS are ready. */
  | { readonly type: 'ready' }
  /** Reports that the program cannot continue. The program exits after this message. */
  | { readonly type: 'failed'; readonly reason: string };

/** Line on the program's standard input which says that the network namespace has its link. */
export const ATTACHED = 'attached';
/**
 * Line on the program's standard input that requests to end without grace periods. The end of the input requests to
 * end, too.
 */
export const HURRY = 'hurry';

/** File descriptor on which a program in namespaces writes its messages, one JSON object per line. */
export const MESSAGE_FD = 3;

/** Splits a stream of text into lines. */
export class Lines {
  #rest = '';

  /** Returns the lines that this text completes. */
  push(text: string): readonly string[] {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}
