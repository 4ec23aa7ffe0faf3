// Vitest runner for mutated packages. The runner defines the global mutant switch, and runs each test or each file once
// per mutant.
import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { type RunnerTestCase, type RunnerTestFile, TestRunner } from 'vitest';
import { forgetModules, type ModuleGraph } from './forget-modules.ts';
import { type Answer, answerPath, type Hits, type Limits, REQUEST_VARIABLE, type Request } from './request.ts';
import { withinTurns } from './turns.ts';

const requestPath = process.env[REQUEST_VARIABLE] ?? '';
const request = JSON.parse(readFileSync(requestPath, 'utf8')) as Request;
// The original function is kept, because tests may replace this global.
const { setImmediate } = globalThis;
const UNLIMITED: Limits = { calls: Number.POSITIVE_INFINITY, turns: Number.POSITIVE_INFINITY };

let imported = new Set<number>();
let noted = imported;
let alive = 0;
let limits = UNLIMITED;
let calls = 0;

Object.assign(globalThis, {
  __mutants: {
    is(id: number): boolean {
      // If a mutant makes a loop endless, only this check ends the loop.
      if (++calls > limits.calls) throw new Error('the mutant exceeds the limit of calls');
      if (request.kind === 'hits') noted.add(id);
      return id === alive;
    },
  },
});
// A failed property is enough: fast-check need not search for the smallest counterexample.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });

/** Repeats each test including its hooks with one mutant at a time, and finally without a mutant. */
export default class MutantRunner extends TestRunner {
  readonly #killed = new Set<number>();
  readonly #unsteady: string[] = [];
  #hits = new Map<string, Hits>();
  #files = 0;
  #began = 0;
  #ended = 0;
  #failed = false;
  #turns = 0;
  #allCalls = 0;
  #mostTurns = 0;
  /** Mutants that the current test has detected. */
  #noticed: number[] = [];

  onBeforeCollect(): void {
    if (this.#files++ > 0) forgetModules(this.#modules, this.config.root);
    this.#began = performance.now();
    this.#hits = new Map();
    this.#failed = false;
    imported = new Set();
    noted = imported;
    calls = this.#allCalls = this.#mostTurns = 0;
    if (request.kind !== 'series') return;
    if (this.#ended === 0) this.#watchErrors();
    alive = request.mutants[this.#ended] ?? 0;
    limits = alive === 0 ? UNLIMITED : request.limits;
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    this.#noticed = [];
    const left = this.#mutantsOf(test).length;
    if (left > 0) test.repeats = left;
    // One failed test is enough to detect the mutant of the series, so the remaining tests are skipped.
    if (request.kind === 'series' && this.#failed) test.mode = 'skip';
    await super.onBeforeRunTask(test);
  }

  override onBeforeTryTask(test: RunnerTestCase, options: { retry: number; repeats: number }): void {
    if (request.kind !== 'series') {
      this.#allCalls += calls;
      calls = 0;
    }
    noted = new Set();
    if (request.kind === 'each') {
      alive = this.#mutantsOf(test)[options.repeats] ?? 0;
      limits = (alive === 0 ? undefined : request.tests[test.id]?.limits) ?? UNLIMITED;
    }
    super.onBeforeTryTask(test, options);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    this.#turns = await withinTurns(TestRunner.getTestFn(test), limits.turns);
    this.#mostTurns = Math.max(this.#mostTurns, this.#turns);
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: { retry: number; repeats: number }): Promise<void> {
    const failed = test.result?.state === 'fail';
    this.#failed ||= failed;
    if (failed && request.kind === 'each') {
      if (alive === 0) this.#unsteady.push(test.id);
      else this.#noticed.push(alive);
      if (test.result !== undefined) test.result.errors = [];
    }
    this.#hits.set(test.id, { mutants: [...noted], calls, turns: this.#turns });
    noted = imported;
    if (request.kind === 'each') {
      alive = 0;
      limits = UNLIMITED;
    }
    await super.onAfterRetryTask(test, options);
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    if (!this.#unsteady.includes(test.id)) for (const mutant of this.#noticed) this.#killed.add(mutant);
    super.onAfterRunTask(test);
  }

  override async onAfterRunFiles(files: RunnerTestFile[]): Promise<void> {
    // Node.js reports unhandled errors in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    if (request.kind === 'series') {
      this.#failed ||= files.some(hasFailed);
      if (this.#failed && alive !== 0) this.#killed.add(alive);
      this.#ended++;
    }
    for (const { filepath } of files) {
      const answer: Answer = {
        ms: performance.now() - this.#began,
        whole: { mutants: [...imported], calls: this.#allCalls + calls, turns: this.#mostTurns },
        hits: Object.fromEntries(this.#hits),
        killed: [...this.#killed],
        unsteady: this.#unsteady,
        ended: this.#ended,
        spoilt: alive === 0 && this.#failed,
      };
      writeFileSync(answerPath(requestPath, filepath), JSON.stringify(answer));
    }
    super.onAfterRunFiles(files);
  }

  /** Returns the mutants of a test that no earlier test has detected. */
  #mutantsOf({ id }: RunnerTestCase): readonly number[] {
    return request.kind === 'each'
      ? (request.tests[id]?.mutants ?? []).filter((mutant) => !this.#killed.has(mutant))
      : [];
  }

  #watchErrors(): void {
    for (const kind of ['uncaughtException', 'unhandledRejection']) process.on(kind, () => (this.#failed = true));
  }

  /** Module graph, which Vitest sets on every runner but does not include in its types. */
  get #modules(): ModuleGraph {
    return (this as unknown as { moduleRunner: { evaluatedModules: ModuleGraph } }).moduleRunner.evaluatedModules;
  }
}

function hasFailed(task: { readonly result?: { readonly state: string } | undefined }): boolean {
  const tasks = 'tasks' in task && Array.isArray(task.tasks) ? task.tasks : [];
  return task.result?.state === 'fail' || tasks.some(hasFailed);
}
