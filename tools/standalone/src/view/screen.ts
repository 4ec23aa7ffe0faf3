import { cut } from './text.ts';

/** Stream to which a screen is drawn: a terminal, or any other stream. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

const BOLD = '\x1b[1m';
const PLAIN = '\x1b[0m';
const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';

/**
 * Prints permanent lines and, on a terminal, a block below them that is redrawn in place. On any other stream only the
 * permanent lines are printed.
 */
export class Screen {
  readonly #output: Output;
  #block: readonly string[] = [];

  constructor(output: Output) {
    this.#output = output;
  }

  get isLive(): boolean {
    return this.#output.isTTY === true;
  }

  get width(): number {
    return this.#output.columns ?? 120;
  }

  /** Prints a permanent line. */
  say(line: string): void {
    this.#output.write(`${this.#erase()}${line}\n${this.#painted()}`);
  }

  /** Draws the block, whose first line is a header. */
  draw(lines: readonly string[]): void {
    const erase = this.#erase();
    const room = Math.max((this.#output.rows ?? 24) - 2, 2);
    const more = lines.length - room;
    this.#block = more > 0 ? [...lines.slice(0, room - 1), `… and ${more + 1} more`] : lines;
    this.#output.write(`${erase}${this.#painted()}`);
  }

  /** Removes the block. */
  clear(): void {
    if (this.#block.length === 0) return;
    this.#output.write(`${this.#erase()}${SHOW_CURSOR}`);
    this.#block = [];
  }

  /** Keeps the current block as permanent lines. */
  freeze(): void {
    if (this.#block.length > 0) this.#output.write(SHOW_CURSOR);
    this.#block = [];
  }

  #erase(): string {
    return this.#block.length === 0 ? '' : `\x1b[${this.#block.length}A\r\x1b[J`;
  }

  #painted(): string {
    if (this.#block.length === 0) return '';
    // Each line is cut to one column less than the width, so that no terminal wraps the line.
    const [header = '', ...rest] = this.#block.map((line) => cut(line, this.width - 1));
    return `${HIDE_CURSOR}${BOLD}${header}${PLAIN}\n${rest.map((line) => `${line}\n`).join('')}`;
  }
}
