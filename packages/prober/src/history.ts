import type { ProbeKind, ProbeOutcome, ProbeResult } from './types.ts';

/** One completed probe attempt. */
export interface ProbeRecord {
  /** Start of the attempt, by the wall clock. */
  readonly atMs: number;
  readonly durationMs: number;
  readonly result: ProbeOutcome['result'];
  /** First line of the target's output or of the error; at most 200 characters. */
  readonly output: string;
}

/** Explanation of one probe of a container. */
export interface ProbeExplanation {
  readonly container: string;
  readonly kind: ProbeKind;
  /** Runtime ID of the container; '' if there is none. */
  readonly containerId: string;
  /** Current result; absent if there is none. */
  readonly result?: ProbeResult;
  /** The event that the probe waits for. Absent if the probe waits for no event and runs periodically. */
  readonly waitsFor?: string;
  /** Time until the next attempt, in ms; absent while an attempt runs. */
  readonly dueInMs?: number;
  /** Latest attempts, newest last. */
  readonly last: readonly ProbeRecord[];
}

const LINE_LIMIT = 200;

/**
 * Latest attempts of one probe, in a ring buffer of preallocated arrays: probes run for years, and each attempt should
 * leave little garbage.
 */
export class History {
  readonly #limit: number;
  readonly #times: Float64Array;
  readonly #results: ProbeOutcome['result'][] = [];
  readonly #outputs: string[] = [];
  /** Number of attempts added so far. */
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
    // Most attempts have the same output as the one before, so the string is shared.
    this.#outputs[at] = last === line ? last : line;
    this.#count += 1;
  }
}

function firstLine(output: string): string {
  const newline = output.indexOf('\n');
  const end = Math.min(newline < 0 ? output.length : newline, LINE_LIMIT);
  const line = output.slice(0, end).trimEnd();
  // Copied, because a substring would keep the whole output in memory, which may be a body of 10 KiB.
  return output.length > LINE_LIMIT ? Buffer.from(line).toString() : line;
}
