import type { Mutant } from './instrument.ts';

/** What became of a mutant: a test failed, none did, or no test comes upon it at all. */
export type Fate = 'killed' | 'survived' | 'uncovered';

export interface Outcome {
  readonly mutant: Mutant;
  readonly fate: Fate;
}

/** A mutant that no test can tell from the rule, or that need not be told, and why. */
export interface Explained {
  readonly file: string;
  /** The line in which it begins, without its indent: it explains all that are the same in such a line, and none elsewhere. */
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
  /** Neither killed nor explained. */
  readonly left: readonly Outcome[];
  /** Explanations of nothing that is left: what they are for is killed by now, or is no more. */
  readonly idle: readonly Explained[];
}

/** How the tests of a package did. @param explained what is explained of the files that the outcomes are of */
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
 * What stands in the docs: packages by their names.
 * @param before the page so far, whose packages stay as they are where they have no new score
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
    'Written by `npm run mutation -- --write [package ...]`. Each pure rule of the managers (a source file without state and without waiting)',
    'is broken in one place after another: another operator, a condition that always or never holds, a value next to the one that is there, a',
    'call left out. The tests of its package that come upon the place run, and one of them has to fail. What is explained stands in',
    '`tools/mutation/explained.json`, each with the reason why no test can or need tell it. Test files that would take hours are left out',
    '(`--without`): what they alone notice counts as left. A package that is not here was not measured yet.',
    '',
    '| package | mutants | killed | explained | left | score |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...sorted,
    '',
  ].join('\n');
}
