// How Vitest runs the tests of a mutated package: the global switch of the mutants, and each test once for each mutant.
import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { type RunnerTestCase, type RunnerTestFile, TestRunner } from 'vitest';
import { type Answer, answerPath, REQUEST_VARIABLE, type Request } from './request.ts';

const requestPath = process.env[REQUEST_VARIABLE] ?? '';
const request = JSON.parse(readFileSync(requestPath, 'utf8')) as Request;

const imported = new Set<number>();
const hits = new Map<string, { mutants: Set<number>; calls: number }>();
let noted = imported;
let alive = request.kind === 'one' ? request.mutant : 0;
let allCalls = 0;
let calls = 0;
let limit = request.kind === 'one' ? request.limit : Number.POSITIVE_INFINITY;

Object.assign(globalThis, {
  __mutants: {
    is(id: number): boolean {
      allCalls++;
      // A mutant may make a loop endless, which no timeout of a test ends.
      if (++calls > limit) throw new Error('the mutant does not come to an end');
      if (request.kind === 'hits') noted.add(id);
      return id === alive;
    },
  },
});
// That a property fails is enough; the smallest example is not looked for.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });

/** Repeats each test, with all that is done before and after it, with one mutant at a time; at last with none. */
export default class MutantRunner extends TestRunner {
  readonly #killed = new Set<number>();
  readonly #unsteady: string[] = [];
  /** What the test under way has noticed. */
  #noticed: number[] = [];

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    this.#noticed = [];
    const left = this.#mutantsOf(test).length;
    if (left > 0) test.repeats = left;
    await super.onBeforeRunTask(test);
  }

  override onBeforeTryTask(test: RunnerTestCase, options: { retry: number; repeats: number }): void {
    calls = 0;
    noted = new Set();
    if (request.kind === 'each') {
      alive = this.#mutantsOf(test)[options.repeats] ?? 0;
      limit = request.tests[test.id]?.limit ?? Number.POSITIVE_INFINITY;
    }
    super.onBeforeTryTask(test, options);
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: { retry: number; repeats: number }): Promise<void> {
    if (test.result?.state === 'fail' && request.kind === 'each') {
      if (alive === 0) this.#unsteady.push(test.id);
      else this.#noticed.push(alive);
      test.result.errors = [];
    }
    hits.set(test.id, { mutants: noted, calls });
    noted = imported;
    if (request.kind === 'each') {
      alive = 0;
      limit = Number.POSITIVE_INFINITY;
    }
    await super.onAfterRetryTask(test, options);
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    if (!this.#unsteady.includes(test.id)) for (const mutant of this.#noticed) this.#killed.add(mutant);
    super.onAfterRunTask(test);
  }

  override onAfterRunFiles(files: RunnerTestFile[]): void {
    for (const { filepath } of files) {
      const answer: Answer = {
        path: filepath,
        imported: [...imported],
        calls: allCalls,
        hits: Object.fromEntries([...hits].map(([id, one]) => [id, { ...one, mutants: [...one.mutants] }])),
        killed: [...this.#killed],
        unsteady: this.#unsteady,
      };
      writeFileSync(answerPath(requestPath, filepath), JSON.stringify(answer));
    }
    super.onAfterRunFiles(files);
  }

  /** Those that no test before this one has noticed. */
  #mutantsOf({ id }: RunnerTestCase): readonly number[] {
    return request.kind === 'each'
      ? (request.tests[id]?.mutants ?? []).filter((mutant) => !this.#killed.has(mutant))
      : [];
  }
}
