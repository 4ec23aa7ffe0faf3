import { createHash } from 'node:crypto';

/** What one run of a test file is for; the path of a file that has it is told by the environment. */
export type Request =
  /** No mutant is alive: who comes upon which. */
  | { readonly kind: 'hits' }
  /** Each test, by its id, once for each of its mutants, until one has noticed it. */
  | { readonly kind: 'each'; readonly tests: Readonly<Record<string, TestPlan>> }
  /** The whole file once for each mutant, which is alive from the first import on, and at last once with none. */
  | { readonly kind: 'series'; readonly mutants: readonly number[]; readonly limits: Limits };

/** What one test is repeated with. */
interface TestPlan {
  readonly mutants: readonly number[];
  readonly limits: Limits;
}

/** When a test does not come to an end any more. */
export interface Limits {
  /** How often it may ask the switch. */
  readonly calls: number;
  /** How many turns of the event loop it may wait for: on a busy machine these come late, but they come. */
  readonly turns: number;
}

/** What a test went through with no mutant. */
export interface Hits extends Limits {
  /** Which it came upon. */
  readonly mutants: readonly number[];
}

/** What a test file says of a run. */
export interface Answer {
  readonly ms: number;
  /** What was come upon while modules were read, how often all asked, and how long the longest test waited. */
  readonly whole: Hits;
  /** By the id of the test. */
  readonly hits: Readonly<Record<string, Hits>>;
  readonly killed: readonly number[];
  /** Tests that fail without a mutant when they are repeated: what they noticed does not count. */
  readonly unsteady: readonly string[];
  /** Of a series: how many of its runs have ended. */
  readonly ended: number;
  /** Of a series: the last run, with no mutant, failed too. */
  readonly spoilt: boolean;
}

/** Where the path of the request stands. */
export const REQUEST_VARIABLE = 'NODE_AGENT_MUTANTS';

/** Where a test file leaves its answer. */
export function answerPath(request: string, testFile: string): string {
  return `${request}.${createHash('sha256').update(testFile).digest('hex').slice(0, 16)}`;
}
