import { createHash } from 'node:crypto';

/** What one run is for; the path of a file that has it is told by the environment. */
export type Request =
  /** No mutant is alive: who comes upon which. */
  | { readonly kind: 'hits' }
  /** One is alive from the first import on. */
  | { readonly kind: 'one'; readonly mutant: number; readonly limit: number }
  /** Each test, by its id, once for each of its mutants, until one has noticed it. */
  | { readonly kind: 'each'; readonly tests: Readonly<Record<string, TestPlan>> };

/** What one test is repeated with. */
interface TestPlan {
  readonly mutants: readonly number[];
  /** How often it may ask the switch. */
  readonly limit: number;
}

/** What a test file says of a run. */
export interface Answer {
  readonly path: string;
  /** Which mutants were come upon while modules were read, and how often the switch was asked in all. */
  readonly imported: readonly number[];
  readonly calls: number;
  /** By the id of the test: which ones, and how often it asked. */
  readonly hits: Readonly<Record<string, { readonly mutants: readonly number[]; readonly calls: number }>>;
  readonly killed: readonly number[];
  /** Tests that fail without a mutant when they are repeated: what they noticed does not count. */
  readonly unsteady: readonly string[];
}

/** Where the path of the request stands. */
export const REQUEST_VARIABLE = 'NODE_AGENT_MUTANTS';

/** Where a test file leaves its answer. */
export function answerPath(request: string, testFile: string): string {
  return `${request}.${createHash('sha256').update(testFile).digest('hex').slice(0, 16)}`;
}
