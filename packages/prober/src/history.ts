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

/** The newest records of one probe, in a ring: probes come for years, and what each leaves behind has to be collected. */
export class History {
  readonly #limit: number;
  readonly #times: Float64Array;
  readonly #results: ProbeOutcome['result'][] = [];
  readonly #outputs: string[] = [];
  /** How many were added. */
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#times = new Float64Array(2 * limit);
  }

  get records(): readonly ProbeRecord[] {
    const kept = Math.min(this.#count, this.#limit);
    return Array.from({ length: kept }, (_, index): ProbeRecord => {
      const at = (this.#count - kept + index) % this.#limit;
      const [atMs = 0, durationMs = 0] = this.#times.subarray(2 * at);
      return { atMs, durationMs, result: this.#results[at] ?? 'error', output: this.#outputs[at] ?? '' };
    });
  }

  add(atMs: number, durationMs: number, { result, output }: ProbeOutcome): void {
    if (this.#limit === 0) return;
    const at = this.#count % this.#limit;
    const last = this.#outputs[(this.#count + this.#limit - 1) % this.#limit];
    const line = firstLine(output);
    this.#times[2 * at] = atMs;
    this.#times[2 * at + 1] = durationMs;
    this.#results[at] = result;
    // Most say the same again and again: one text of it is enough.
    this.#outputs[at] = last === line ? last : line;
    this.#count += 1;
  }
}

function firstLine(output: string): string {
  const newline = output.indexOf('\n');
  const end = Math.min(newline < 0 ? output.length : newline, LINE_LIMIT);
  const line = output.slice(0, end).trimEnd();
  // A copy: a part of a text keeps all of it in memory, and a body may have 10 KiB.
  return output.length > LINE_LIMIT ? Buffer.from(line).toString() : line;
}
