import type { Pipe } from './pipe.ts';
import { signals } from './signals.ts';

/** Columns and rows of a terminal. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The two ends that a terminal connects: a process and a client. */
export interface TerminalEnds {
  /** The input of the process. */
  readonly input: Pipe;
  /** Sends output to the client. */
  show(data: Uint8Array): Promise<void>;
  /** Sends a signal to the foreground processes. */
  signal(signal: number): void;
}

const CONTROL: Readonly<Record<number, string>> = { 3: 'SIGINT', 28: 'SIGQUIT' };
const [BACKSPACE, DELETE, END_OF_INPUT, RETURN, NEWLINE, SPACE, CARET] = [8, 127, 4, 13, 10, 32, 94];

/**
 * A terminal in Linux's canonical mode: it echoes input, passes input on line by line, and ends output lines with CR
 * LF.
 */
export class Terminal {
  readonly #ends: TerminalEnds;
  #line: number[] = [];
  #size: TerminalSize = { columns: 0, rows: 0 };

  constructor(ends: TerminalEnds) {
    this.#ends = ends;
  }

  /** Size of the terminal; 0 by 0 until the client has sent a size. */
  get size(): TerminalSize {
    return this.#size;
  }

  /** Sets the size. Like containerd, ignores sizes with zero columns or rows. */
  resize(size: TerminalSize): void {
    if (size.columns < 1 || size.rows < 1) return;
    const isAnother = size.columns !== this.#size.columns || size.rows !== this.#size.rows;
    this.#size = size;
    if (isAnother) this.#ends.signal(signals.SIGWINCH ?? 28);
  }

  /** Processes input from the client. */
  async type(data: Uint8Array): Promise<void> {
    let echo: number[] = [];
    const flush = async (): Promise<void> => {
      const shown = Uint8Array.from(echo);
      echo = [];
      if (shown.length > 0) await this.#ends.show(shown);
    };
    for (const typed of data) {
      const key = typed === RETURN ? NEWLINE : typed;
      const signal = CONTROL[key];
      if (signal !== undefined) {
        this.#line = [];
        echo.push(CARET, key + 64);
        await flush();
        this.#ends.signal(signals[signal] ?? 2);
      } else if (key === END_OF_INPUT) {
        await flush();
        if (this.#line.length === 0) this.#ends.input.end();
        else await this.#handOn();
      } else if (key === BACKSPACE || key === DELETE) {
        if (this.#line.pop() !== undefined) echo.push(BACKSPACE, SPACE, BACKSPACE);
      } else if (key === NEWLINE) {
        this.#line.push(key);
        echo.push(RETURN, key);
        await flush();
        await this.#handOn();
      } else {
        this.#line.push(key);
        echo.push(key);
      }
    }
    await flush();
  }

  /** Sends output of the process to the client. */
  show(data: Uint8Array): Promise<void> {
    if (!data.includes(NEWLINE)) return this.#ends.show(data);
    const shown: number[] = [];
    for (const byte of data) {
      if (byte === NEWLINE) shown.push(RETURN);
      shown.push(byte);
    }
    return this.#ends.show(Uint8Array.from(shown));
  }

  #handOn(): Promise<void> {
    const line = Uint8Array.from(this.#line);
    this.#line = [];
    return this.#ends.input.write(line);
  }
}
