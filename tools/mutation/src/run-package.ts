import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVitest, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { type Instrumented, instrument, type Mutant } from './instrument.ts';
import { type Answer, answerPath, REQUEST_VARIABLE, type Request } from './request.ts';
import type { Fate, Outcome } from './score.ts';

/** How much more of a rule a mutant may go through than the test did without one, and how much it may in any case. */
const PATIENCE = 20;
const FREE_CALLS = 10_000;

/** What runs the tests of one package. */
export interface PackagePlan {
  readonly directory: string;
  /** Relative to it. */
  readonly files: readonly string[];
  readonly workers: number;
  /** What goes on, for whoever waits. */
  readonly say: (text: string) => void;
}

/** Lets the tests of a package run against each mutant of its files. @throws Error where they fail without any */
export async function runPackage({ directory, files, workers, say }: PackagePlan): Promise<readonly Outcome[]> {
  const instrumented = instrumentAll(directory, files);
  const mutants = [...instrumented.values()].flatMap((file) => file.mutants);
  const scratch = mkdtempSync(join(tmpdir(), 'node-agent-mutation-'));
  const vitest = await openVitest(directory, instrumented, workers);
  try {
    const tests = new TestRuns(vitest, join(scratch, 'request'));
    const dry = await tests.run(await vitest.globTestSpecifications(), { kind: 'hits' });
    if (dry.failed.length > 0) throw new Error(`tests fail without any mutant: ${dry.failed.join(', ')}`);
    const fates = await fatesOf(tests, mutants, dry.answers, say);
    return mutants.map((mutant) => ({ mutant, fate: fates.get(mutant.id) ?? 'uncovered' }));
  } finally {
    await vitest.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** @returns the fate of each mutant that a test comes upon */
async function fatesOf(
  tests: TestRuns,
  mutants: readonly Mutant[],
  answers: ReadonlyMap<TestSpecification, Answer>,
  say: (text: string) => void,
): Promise<ReadonlyMap<number, Fate>> {
  const fates = new Map<number, Fate>();
  const living = (ids: readonly number[]): number[] => ids.filter((id) => fates.get(id) !== 'killed');
  const limitOf = (calls: number): number => FREE_CALLS + PATIENCE * calls;
  const limit = limitOf(Math.max(...[...answers.values()].map(({ calls }) => calls)));
  /** What the quick way cannot tell, and in which test files it may show. */
  const slow = new Map<number, Set<TestSpecification>>();
  const later = (ids: readonly number[], specification: TestSpecification): void => {
    for (const id of ids) slow.set(id, (slow.get(id) ?? new Set()).add(specification));
  };

  for (const [specification, { hits, imported }] of answers) {
    later(imported, specification);
    const hit = Object.values(hits).flatMap((test) => test.mutants);
    for (const id of [...imported, ...hit]) fates.set(id, fates.get(id) ?? 'survived');
    const asked = Object.entries(hits).map(
      ([test, { mutants, calls }]) => [test, { mutants: living(mutants), limit: limitOf(calls) }] as const,
    );
    const wanted = asked.flatMap(([, plan]) => plan.mutants);
    if (wanted.length === 0) continue;
    const request = { kind: 'each', tests: Object.fromEntries(asked) } as const;
    const answer = (await tests.run([specification], request)).answers.get(specification);
    // A mutant that ends the whole run leaves no answer.
    if (answer === undefined) later(wanted, specification);
    for (const id of answer?.killed ?? []) fates.set(id, 'killed');
    for (const test of answer?.unsteady ?? []) later(hits[test]?.mutants ?? [], specification);
    say(`${living(mutants.map(({ id }) => id)).length} of ${mutants.length} are left`);
  }
  const left = living([...slow.keys()]);
  for (const [index, mutant] of left.entries()) {
    if (index % 50 === 0) say(`${index} of ${left.length} that modules come upon when they are read`);
    // One after another: mostly the first one notices.
    for (const specification of slow.get(mutant) ?? []) {
      const { failed } = await tests.run([specification], { kind: 'one', mutant, limit });
      if (failed.length === 0) continue;
      fates.set(mutant, 'killed');
      break;
    }
  }
  return fates;
}

function instrumentAll(directory: string, files: readonly string[]): ReadonlyMap<string, Instrumented> {
  const all = new Map<string, Instrumented>();
  let nextId = 1;
  for (const file of files) {
    const path = join(directory, file);
    const one = instrument(file, readFileSync(path, 'utf8'), nextId);
    nextId += one.mutants.length;
    all.set(path, one);
  }
  return all;
}

async function openVitest(
  directory: string,
  instrumented: ReadonlyMap<string, Instrumented>,
  workers: number,
): Promise<Vitest> {
  return await createVitest(
    'test',
    {
      root: directory,
      watch: false,
      reporters: [{}],
      maxWorkers: workers,
      testTimeout: 10_000,
      // It knows nothing of the mutants, and would give modules that have them to other runs.
      fsModuleCache: false,
      pool: 'threads',
      runner: fileURLToPath(new URL('./runner.ts', import.meta.url)),
    },
    {
      plugins: [
        {
          name: 'mutants',
          enforce: 'pre',
          transform: (_code, id) => {
            const code = instrumented.get(id.split('?')[0] ?? '')?.code;
            return code === undefined ? undefined : { code, map: null };
          },
        },
      ],
    },
  );
}

/** Runs of test files, each with a request that the runner within them reads. */
class TestRuns {
  readonly #vitest: Vitest;
  readonly #request: string;

  /** @param request the path of a file */
  constructor(vitest: Vitest, request: string) {
    this.#vitest = vitest;
    this.#request = request;
  }

  async run(
    specifications: readonly TestSpecification[],
    request: Request,
  ): Promise<{ answers: ReadonlyMap<TestSpecification, Answer>; failed: readonly string[] }> {
    writeFileSync(this.#request, JSON.stringify(request));
    process.env[REQUEST_VARIABLE] = this.#request;
    for (const { moduleId } of specifications) rmSync(answerPath(this.#request, moduleId), { force: true });
    const { testModules, unhandledErrors } = await this.#vitest.runTestSpecifications([...specifications]);
    const failed = testModules
      .filter((module) => !module.ok())
      .map((module) => `${module.relativeModuleId}${why(module)}`);
    if (unhandledErrors.length > 0 && failed.length === 0) failed.push('unhandled errors');
    const answers = new Map<TestSpecification, Answer>();
    for (const specification of specifications) {
      const path = answerPath(this.#request, specification.moduleId);
      if (existsSync(path)) answers.set(specification, JSON.parse(readFileSync(path, 'utf8')) as Answer);
    }
    return { answers, failed };
  }
}

/** What is wrong with a module that could not be read, or with the first of its tests that failed. */
function why(module: TestModule): string {
  const tests = [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []);
  const [error] = [...module.errors(), ...tests];
  return error === undefined ? '' : ` (${error.message})`;
}
