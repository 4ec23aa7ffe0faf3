import type { Mutant } from './instrument.ts';

/** Fate of a mutant: a test failed, no test failed, or no test executes the mutant. */
export type Fate = 'killed' | 'survived' | 'uncovered';

export interface Outcome {
  readonly mutant: Mutant;
  readonly fate: Fate;
}

/** Mutant that no test can or needs to detect, with the reason. */
export interface Explained {
  readonly file: string;
  /**
   * Line in which the mutant starts, without its indentation. The explanation applies to all equal mutants in lines
   * with this text, and to no others.
   */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
  readonly why: string;
}

export interface PackageScore {
  readonly name: string;
  readonly mutants: number;
  readonly killed: number;
  readonly explained: number;
  /** Mutants that are neither killed nor explained. */
  readonly left: readonly Outcome[];
  /** Explanations without a mutant: the mutant was killed or no longer exists. */
  readonly idle: readonly Explained[];
}

/** Computes the score of a package. @param explained explanations for the files of the outcomes */
export function scoreOf(name: string, outcomes: readonly Outcome[], explained: readonly Explained[]): PackageScore {
  const alive = outcomes.filter(({ fate }) => fate !== 'killed');
  const left = alive.filter(({ mutant }) => !explained.some((one) => isExplainedBy(mutant, one)));
  return {
    name,
    mutants: outcomes.length,
    killed: outcomes.length - alive.length,
    explained: alive.length - left.length,
    left,
    idle: explained.filter((one) => !alive.some(({ mutant }) => isExplainedBy(mutant, one))),
  };
}

function isExplainedBy(mutant: Mutant, one: Explained): boolean {
  const keys = ['file', 'lineText', 'original', 'replacement'] as const;
  return keys.every((key) => mutant[key] === one[key]);
}

const ROW = /^\| `([\w-]+)` \|.*\|$/gm;

/**
 * Returns the document with the scores, ordered by package.
 * @param before previous content; packages without a new score keep their row
 */
export function scorePage(scores: readonly PackageScore[], before = ''): string {
  const share = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);
  const rows = new Map([...before.matchAll(ROW)].map(([row, name = '']) => [name, row]));
  for (const { name, mutants, killed, explained, left } of scores) {
    const score = share(killed + explained, mutants);
    rows.set(name, `| \`${name}\` | ${mutants} | ${killed} | ${explained} | ${left.length} | ${score} |`);
  }
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return [
    '# Mutation scores',
    '',
    '`npm run mutation -- --write [package ...]` writes this page. The pure rules of the managers (source files without state and asynchronous code)',
    'are changed at one place after another: another operator, a condition that is always true or false, a neighbouring value, an omitted',
    'call. The tests of the package that execute the place run, and one of them must fail. Explained changes are listed in',
    '`tools/mutation/explained.json` with the reason why no test can or needs to detect them. Test files that would take hours are skipped',
    '(`--without`): changes that only these files detect count as undetected (`left`). Packages that are missing here have not been measured.',
    '',
    '| package | mutants | killed | explained | left | score |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...sorted,
    '',
  ].join('\n');
}
