import type { ProbeKind, ProbeOutcome, ProbeResult } from './types.ts';

/** One probe that was made. */
export interface ProbeRecord {
  /** When it began, by the wall clock. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly result: ProbeOutcome['result'];
  /** The first line of what the target said, or of what went wrong; at most 200 characters. */
  readonly output: string;
}

/** What is known of a container's probe, for people who ask. */
export interface ProbeExplanation {
  readonly container: string;
  readonly kind: ProbeKind;
  /** The runtime's id; '' while there is none. */
  readonly containerId: string;
  /** What stands; absent while nothing does. */
  readonly result?: ProbeResult;
  /** What the probe waits for; absent where it is made every period. */
  readonly waitsFor?: string;
  /** When it is due next, in ms from now; absent while it runs. */
  readonly dueInMs?: number;
  /** The newest last. */
  readonly last: readonly ProbeRecord[];
}

const LINE_LIMIT = 200;

/** The newest records of one probe. */
export class History {
  readonly #limit: number;
  readonly #records: ProbeRecord[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get records(): readonly ProbeRecord[] {
    return [...this.#records];
  }

  add(atMs: number, durationMs: number, { result, output }: ProbeOutcome): void {
    this.#records.push({ atMs, durationMs, result, output: firstLine(output) });
    if (this.#records.length > this.#limit) this.#records.shift();
  }
}

function firstLine(output: string): string {
  const newline = output.indexOf('\n');
  const end = Math.min(newline < 0 ? output.length : newline, LINE_LIMIT);
  const line = output.slice(0, end).trimEnd();
  // A copy: a part of a text keeps all of it in memory, and a body may have 10 KiB.
  return output.length > LINE_LIMIT ? Buffer.from(line).toString() : line;
}
