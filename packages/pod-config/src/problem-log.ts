import type { Logger } from '@node-agent/telemetry';
import { formatProblem, type ManifestProblem } from './problem.ts';

/**
 * Logs each problem once when it appears, and once when it is resolved, regardless of how often it is reported in
 * between.
 */
export class ProblemLog {
  readonly #logger: Logger;
  #current = new Map<string, ManifestProblem>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  get problems(): readonly ManifestProblem[] {
    return [...this.#current.values()];
  }

  /** Replaces the current problems. */
  update(problems: readonly ManifestProblem[]): void {
    const next = new Map(problems.map((problem) => [formatProblem(problem), problem]));
    for (const [text, problem] of next) {
      if (this.#current.has(text)) continue;
      const level = problem.isWarning ? 'warn' : 'error';
      this.#logger[level]({ source: problem.source, problem: text }, 'Manifest has a problem');
    }
    for (const [text, problem] of this.#current) {
      if (!next.has(text)) this.#logger.info({ source: problem.source, problem: text }, 'Manifest problem is gone');
    }
    this.#current = next;
  }
}
