import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
// Adds Vitest's types to the plugin hooks.
import type {} from 'vitest/config';
import { BaseSequencer, createVitest, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { type Instrumented, instrument, type Mutant } from './instrument.ts';
import { type Answer, answerPath, type Limits, REQUEST_VARIABLE, type Request } from './request.ts';
import type { Fate, Outcome } from './score.ts';

/** Limits of a test with a mutant: a multiple of its values without a mutant, plus a fixed allowance. */
const PATIENCE: Limits = { calls: 20, turns: 3 };
const FREE: Limits = { calls: 10_000, turns: 100 };
/** Maximum number of mutants per worker. The worker does not free all memory of a mutant. */
const SERIES = 50;

/** Options of {@link runPackage}. */
export interface PackagePlan {
  readonly directory: string;
  /** Paths relative to the package directory. */
  readonly files: readonly string[];
  /** Regular expression for the paths of test files that are skipped. If empty, all test files run. */
  readonly without?: string;
  /** Receives progress messages. */
  readonly say: (text: string) => void;
}

/** Runs the tests of a package against each mutant of its files. @throws Error if the tests fail without a mutant */
export async function runPackage({ directory, files, without = '', say }: PackagePlan): Promise<readonly Outcome[]> {
  const instrumented = instrumentAll(directory, files);
  const mutants = [...instrumented.values()].flatMap((file) => file.mutants);
  const scratch = mkdtempSync(join(tmpdir(), 'node-agent-mutation-'));
  const vitest = await openVitest(directory, instrumented);
  try {
    const tests = new TestRuns(vitest, join(scratch, 'request'));
    const specifications = await vitest.globTestSpecifications();
    const wanted = specifications.filter(
      ({ moduleId }) => without === '' || !new RegExp(without).test(relative(directory, moduleId)),
    );
    const answers = await hitsOf(tests, wanted);
    const fates = await fatesOf(tests, mutants, answers, say);
    return mutants.map((mutant) => ({ mutant, fate: fates.get(mutant.id) ?? 'uncovered' }));
  } finally {
    await vitest.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Determines the mutants that each test file executes; the fastest file comes first. @throws Error if a test file fails
 * without a mutant
 */
async function hitsOf(tests: TestRuns, specifications: readonly TestSpecification[]): Promise<readonly FileAnswer[]> {
  const answers: FileAnswer[] = [];
  const together = await tests.run(specifications, { kind: 'hits' });
  for (const specification of specifications) {
    const { answers: own, failed } =
      // If the test files disturb each other, each file runs alone.
      together.failed.length === 0 ? together : await tests.run([specification], { kind: 'hits' });
    const answer = own.get(specification);
    if (answer === undefined || failed.length > 0) throw new Error(`tests fail without a mutant: ${failed.join(', ')}`);
    answers.push([specification, answer]);
  }
  return answers.sort(([, a], [, b]) => a.ms - b.ms);
}

type FileAnswer = readonly [TestSpecification, Answer];

/** Runs the tests against the mutants. @returns the fate of each mutant that a test executes */
async function fatesOf(
  tests: TestRuns,
  mutants: readonly Mutant[],
  answers: readonly FileAnswer[],
  say: (text: string) => void,
): Promise<ReadonlyMap<number, Fate>> {
  const fates = new Map<number, Fate>();
  const living = (ids: readonly number[]): number[] => ids.filter((id) => fates.get(id) !== 'killed');
  const kill = (ids: readonly number[]): void => {
    for (const id of ids) fates.set(id, 'killed');
    say(`${living(mutants.map(({ id }) => id)).length} of ${mutants.length} mutants are left`);
  };
  /** Mutants that repeated tests cannot judge, by the test file that may detect them. */
  const slow = new Map<TestSpecification, number[]>();
  for (const [specification, { whole, hits }] of answers) {
    const hit = Object.values(hits).flatMap((test) => test.mutants);
    for (const id of [...whole.mutants, ...hit]) fates.set(id, 'survived');
    slow.set(specification, [...whole.mutants]);
  }
  for (let rest = answers; rest.length > 0; ) {
    const planned = rest.flatMap(([, { hits }]) =>
      Object.entries(hits).map(([test, of]) => [test, { mutants: living(of.mutants), limits: limitsOf(of) }] as const),
    );
    const request = { kind: 'each', tests: Object.fromEntries(planned) } as const;
    const result = await tests.run(
      rest.map(([specification]) => specification),
      request,
    );
    kill([...result.answers.values()].flatMap(({ killed }) => killed));
    for (const [specification, { hits }] of rest) {
      const unsteady = result.answers.get(specification)?.unsteady ?? [];
      slow.get(specification)?.push(...unsteady.flatMap((test) => hits[test]?.mutants ?? []));
    }
    const silent = rest.findIndex(([specification]) => !result.answers.has(specification));
    if (silent === -1) break;
    // The worker ended without an answer for this file, because a mutant ended the process.
    const [specification, { hits }] = rest[silent] as FileAnswer;
    slow.get(specification)?.push(...Object.values(hits).flatMap((test) => test.mutants));
    rest = rest.slice(silent + 1);
  }
  for (const [specification, { whole }] of answers) {
    const left = [...new Set(living(slow.get(specification) ?? []))];
    if (left.length > 0) say(`${left.length} mutants are executed while modules are evaluated`);
    for (let at = 0; at < left.length; at += SERIES) {
      kill(await seriesKills(tests, specification, left.slice(at, at + SERIES), limitsOf(whole)));
    }
  }
  return fates;
}

/** Runs a series. @returns the mutants that the whole test file detects if they are active from the first import on */
async function seriesKills(
  tests: TestRuns,
  specification: TestSpecification,
  mutants: readonly number[],
  limits: Limits,
): Promise<readonly number[]> {
  if (mutants.length === 0) return [];
  const runs = [...mutants, 0].map(() => specification);
  const { answers } = await tests.run(runs, { kind: 'series', mutants, limits });
  const answer = answers.get(specification);
  if (answer?.spoilt === true && mutants.length > 1) {
    // A mutant left state behind that makes the other runs fail, so each mutant gets its own worker.
    const alone: number[] = [];
    for (const mutant of mutants) alone.push(...(await seriesKills(tests, specification, [mutant], limits)));
    return alone;
  }
  const ended = answer?.ended ?? 0;
  const killed = answer?.killed ?? [];
  const last = mutants[ended];
  if (last === undefined) return killed;
  // The worker ended during the run of this mutant, so the mutant counts as killed.
  return [...killed, last, ...(await seriesKills(tests, specification, mutants.slice(ended + 1), limits))];
}

function limitsOf({ calls, turns }: Limits): Limits {
  return { calls: FREE.calls + PATIENCE.calls * calls, turns: FREE.turns + PATIENCE.turns * turns };
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

async function openVitest(directory: string, instrumented: ReadonlyMap<string, Instrumented>): Promise<Vitest> {
  const codeOf = (id: string): string | undefined => instrumented.get(id.split('?')[0] ?? '')?.code;
  return await createVitest(
    'test',
    {
      root: directory,
      watch: false,
      reporters: [{}],
      maxWorkers: 1,
      // One worker runs the same file repeatedly. The runner resets the modules that must be evaluated again.
      isolate: false,
      // Vitest's timeout is off, because the runner counts turns of the event loop instead.
      testTimeout: 0,
      hookTimeout: 120_000,
      sequence: { sequencer: GivenOrder },
      pool: 'threads',
      runner: fileURLToPath(new URL('./runner.ts', import.meta.url)),
    },
    {
      plugins: [
        {
          name: 'mutants',
          enforce: 'pre',
          // Other Vitest runs share the module cache without mutants and must not get instrumented modules.
          api: { vitest: { ignoreFsModuleCache: true } },
          configureVitest: ({ defineCacheKeyGenerator }) =>
            defineCacheKeyGenerator(({ id }) => (codeOf(id) === undefined ? undefined : false)),
          transform: (_code, id) => {
            const code = codeOf(id);
            return code === undefined ? undefined : { code, map: null };
          },
        },
      ],
    },
  );
}

/** Runs test files in the given order. By default, Vitest orders files by the results of earlier runs. */
class GivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

/** Runs test files one after another in one worker, with a request file that the runner inside reads. */
class TestRuns {
  readonly #vitest: Vitest;
  readonly #request: string;

  /** @param request path of the request file */
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
      .filter((module) => !module.ok() && specifications.some(({ moduleId }) => moduleId === module.moduleId))
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

/** Returns the error of a module that could not be evaluated, or of its first failed test. */
function why(module: TestModule): string {
  const tests = [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? []);
  const [error] = [...module.errors(), ...tests];
  return error === undefined ? '' : ` (${error.message})`;
}
