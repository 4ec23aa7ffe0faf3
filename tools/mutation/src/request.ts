import { createHash } from 'node:crypto';

/** Purpose of one run of a test file. An environment variable contains the path of the request file. */
export type Request =
  /** Records the mutants that each test executes; no mutant is active. */
  | { readonly kind: 'hits' }
  /** Runs each test, by ID, once per mutant that it executes, until a test has detected the mutant. */
  | { readonly kind: 'each'; readonly tests: Readonly<Record<string, TestPlan>> }
  /**
   * Runs the whole file once per mutant, which is active from the first import on, and finally once without a mutant.
   */
  | { readonly kind: 'series'; readonly mutants: readonly number[]; readonly limits: Limits };

/** Mutants and limits for one test. */
interface TestPlan {
  readonly mutants: readonly number[];
  readonly limits: Limits;
}

/** Limits after which a test counts as endless. */
export interface Limits {
  /** Maximum number of calls of the mutant switch. */
  readonly calls: number;
  /**
   * Maximum number of turns of the event loop during which the test may wait. On a busy machine turns are late, but
   * their number stays the same.
   */
  readonly turns: number;
}

/** Execution of a test without a mutant. */
export interface Hits extends Limits {
  /** Mutants whose code was executed. */
  readonly mutants: readonly number[];
}

/** Result of a run of a test file. */
export interface Answer {
  readonly ms: number;
  /**
   * Mutants executed while modules were evaluated, number of switch calls of all tests, and turns of the longest test.
   */
  readonly whole: Hits;
  /** Execution per test ID. */
  readonly hits: Readonly<Record<string, Hits>>;
  readonly killed: readonly number[];
  /**
   * IDs of tests that fail without a mutant when they are repeated. Mutants that such a test detected do not count as
   * killed.
   */
  readonly unsteady: readonly string[];
  /** In a series: number of completed runs. */
  readonly ended: number;
  /** In a series: whether the last run, which has no mutant, failed. */
  readonly spoilt: boolean;
}

/** Environment variable with the path of the request file. */
export const REQUEST_VARIABLE = 'NODE_AGENT_MUTANTS';

/** Returns the path of a test file's answer. */
export function answerPath(request: string, testFile: string): string {
  return `${request}.${createHash('sha256').update(testFile).digest('hex').slice(0, 16)}`;
}
