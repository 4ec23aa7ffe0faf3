import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { type Instrumented, instrument, type Mutant } from './instrument.ts';
import type { Fate, Outcome } from './score.ts';

/** How much more of a rule a mutant may go through than the whole of the tests did. */
const PATIENCE = 20;

/** What runs the tests of one package. */
export interface PackagePlan {
  readonly directory: string;
  /** Relative to it. */
  readonly files: readonly string[];
  readonly workers: number;
  readonly onOutcome: (outcome: Outcome, done: number, all: number) => void;
}

/** Lets the tests of a package run against each mutant of its files. @throws Error where they fail without any */
export async function runPackage({ directory, files, workers, onOutcome }: PackagePlan): Promise<readonly Outcome[]> {
  const instrumented = instrumentAll(directory, files);
  const mutants = [...instrumented.values()].flatMap((file) => file.mutants);
  const scratch = mkdtempSync(join(tmpdir(), 'node-agent-mutation-'));
  const vitest = await openVitest(directory, instrumented, workers);
  try {
    const specifications = await vitest.globTestSpecifications();
    const hits = await dryRun(vitest, specifications, join(scratch, 'hits'));
    const outcomes: Outcome[] = [];
    for (const mutant of mutants) {
      const concerned = specifications.filter(({ moduleId }) => hits.get(moduleId)?.ids.has(mutant.id));
      const fate = await fateOf(vitest, mutant, concerned, [...hits.values()]);
      outcomes.push({ mutant, fate });
      onOutcome({ mutant, fate }, outcomes.length, mutants.length);
    }
    return outcomes;
  } finally {
    await vitest.close();
    rmSync(scratch, { recursive: true, force: true });
  }
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
      bail: 1,
      reporters: [{}],
      maxWorkers: workers,
      testTimeout: 5000,
      // It knows nothing of the mutants, and would give modules that have them to other runs.
      fsModuleCache: false,
      pool: 'threads',
      setupFiles: [fileURLToPath(new URL('./set-up.ts', import.meta.url))],
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

interface Hits {
  readonly ids: ReadonlySet<number>;
  readonly calls: number;
}

/** Which mutants each test file comes upon. */
async function dryRun(
  vitest: Vitest,
  specifications: readonly TestSpecification[],
  directory: string,
): Promise<ReadonlyMap<string, Hits>> {
  process.env.NODE_AGENT_MUTANT_HITS = directory;
  try {
    const failed = await failures(vitest, specifications);
    if (failed.length > 0) throw new Error(`tests fail without any mutant: ${failed.join(', ')}`);
  } finally {
    delete process.env.NODE_AGENT_MUTANT_HITS;
  }
  const hits = new Map<string, Hits>();
  for (const name of readdirSync(directory)) {
    const { file, ids, calls } = JSON.parse(readFileSync(join(directory, name), 'utf8')) as {
      file: string;
      ids: number[];
      calls: number;
    };
    hits.set(file, { ids: new Set(ids), calls });
  }
  return hits;
}

async function fateOf(
  vitest: Vitest,
  { id }: Mutant,
  concerned: readonly TestSpecification[],
  hits: readonly Hits[],
): Promise<Fate> {
  if (concerned.length === 0) return 'uncovered';
  process.env.NODE_AGENT_MUTANT = String(id);
  process.env.NODE_AGENT_MUTANT_LIMIT = String(PATIENCE * Math.max(...hits.map(({ calls }) => calls)));
  try {
    // One after another: mostly the first one notices.
    for (const specification of concerned) {
      if ((await failures(vitest, [specification])).length > 0) return 'killed';
    }
    return 'survived';
  } finally {
    delete process.env.NODE_AGENT_MUTANT;
    delete process.env.NODE_AGENT_MUTANT_LIMIT;
  }
}

/** The test files that did not pass. */
async function failures(vitest: Vitest, specifications: readonly TestSpecification[]): Promise<readonly string[]> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([...specifications]);
  const failed = testModules.filter((module) => !module.ok()).map(({ moduleId }) => relative(process.cwd(), moduleId));
  return unhandledErrors.length > 0 && failed.length === 0 ? ['unhandled errors'] : failed;
}
