import type { Evidence, Findings } from './evidence.ts';
import type { SpecResult, SpecState, SuiteResult } from './specs.ts';
import { type MachineFacts, unfitReason } from './unfit.ts';

/** What a page tells of one kubelet's run. */
export interface Run {
  /** `node-agent` or `Go kubelet`, or a path. */
  readonly kubelet: string;
  readonly result: SuiteResult;
  readonly evidence: readonly Evidence[];
}

/** A run, by what it left. A kubelet that did not stay to its end is at fault, whatever the specs say that it was not asked for. */
export function runOf(kubelet: string, result: SuiteResult, { kubeletEnded, evidence }: Findings): Run {
  if (kubeletEnded === undefined) return { kubelet, result, evidence };
  const problems = [...result.problems, `the kubelet did not stay: ${kubeletEnded}`];
  return { kubelet, result: { ...result, problems }, evidence };
}

/** The runs of a selection: the kubelet that is looked at, as often as it was run, and another one beside it. */
export interface Runs {
  readonly ours: readonly Run[];
  readonly compared?: Run | undefined;
}

/** What is the same for all runs of a page. */
export interface PageFacts {
  /** What the specs are about. */
  readonly title: string;
  readonly date: string;
  readonly commit: string;
  readonly kubernetes: string;
  readonly containerd: string;
  readonly suite: string;
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  readonly processes: number;
  /** Cores and memory. */
  readonly machine: string;
  /** What the machine has. */
  readonly has: MachineFacts;
}

/** How the specs of a run went: what no kubelet passes on the machine is counted for itself. */
export type Outcome = SpecState | 'impossible';

/** Why a failed spec counts for no fault: no kubelet passes it on the machine, and the one that was compared did not either. */
export function impossible(spec: SpecResult, has: MachineFacts, compared?: ComparedTurn): string | undefined {
  if (spec.state !== 'failed') return undefined;
  return compared !== undefined && passedIn(compared, spec) ? undefined : unfitReason(spec, has);
}

/** What did not pass in a run, and did with the kubelet that was compared. */
export function regressions(compared: ComparedTurn, { specs }: SuiteResult): readonly SpecResult[] {
  return specs.filter((spec) => spec.state !== 'passed' && passedIn(compared, spec));
}

function passedIn({ notPassed }: ComparedTurn, { name }: SpecResult): boolean {
  return !Object.hasOwn(notPassed, name);
}

/** The number of specs of each outcome. */
export function counts(
  { specs }: SuiteResult,
  has: MachineFacts,
  compared?: ComparedTurn,
): Readonly<Record<Outcome, number>> {
  const count = { passed: 0, failed: 0, impossible: 0, skipped: 0, 'not run': 0 };
  for (const spec of specs) {
    count[impossible(spec, has, compared) === undefined ? spec.state : 'impossible'] += 1;
  }
  return count;
}

/** A run in numbers: what is known of it when its report has gone. */
export interface Turn {
  readonly kubelet: string;
  readonly date: string;
  readonly commit: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly seconds: number;
  /** All specs were run, and nothing failed, in them or beside them. */
  readonly faultless: boolean;
}

/** A run of the kubelet that is compared. */
export interface ComparedTurn extends Turn {
  /** How the specs went that did not pass, by their names. */
  readonly notPassed: Readonly<Record<string, SpecState>>;
}

/** What a page of all selections tells of one. */
export interface Summary {
  readonly title: string;
  /** The runs of the kubelet that is looked at, one after another. */
  readonly turns: readonly Turn[];
  readonly compared?: ComparedTurn;
}

/**
 * What came of a selection, in numbers.
 * @param before what came of it so far: its runs go on, as long as they are of as many specs
 */
export function summary(facts: PageFacts, { ours, compared }: Runs, before?: Summary): Summary {
  const [first] = ours;
  if (first === undefined) throw new RangeError('nothing was run');
  const last = before?.turns.at(-1);
  const earlier = last !== undefined && specsOf(last) === first.result.specs.length ? before : undefined;
  const other = compared === undefined ? earlier?.compared : comparedTurn(facts, compared);
  return {
    title: facts.title,
    turns: [...(earlier?.turns ?? []), ...ours.map((run) => turnOf(facts, run, other))],
    ...(other && { compared: other }),
  };
}

function comparedTurn(facts: PageFacts, run: Run): ComparedTurn {
  const rest = run.result.specs.filter(({ state }) => state !== 'passed');
  return { ...turnOf(facts, run), notPassed: Object.fromEntries(rest.map(({ name, state }) => [name, state])) };
}

function turnOf({ date, commit, has }: PageFacts, { kubelet, result }: Run, compared?: ComparedTurn): Turn {
  const count = counts(result, has, compared);
  const faults = count.failed + count['not run'] + result.problems.length;
  const faultless = result.specs.length > 0 && faults === 0;
  return { kubelet, date, commit, counts: count, seconds: Math.round(result.seconds), faultless };
}

/** How many specs there were. */
export function specsOf({ counts }: Turn): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** How many runs, up to the last, had no fault. */
export function inARow({ turns }: Summary): number {
  return turns.length - 1 - turns.findLastIndex(({ faultless }) => !faultless);
}

/**
 * How long a run takes: the median of all, in whole seconds; of those that the kubelet that was compared had beside it, where there are
 * some. A machine has better and worse days.
 */
export function usualSeconds({ turns, compared }: Summary): number {
  const beside = turns.filter(({ date }) => date === compared?.date);
  const sorted = (beside.length > 0 ? beside : turns).map(({ seconds }) => seconds).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = 0] = sorted.length % 2 === 0 ? sorted.slice(middle - 1) : [sorted[middle], sorted[middle]];
  return Math.round((low + high) / 2);
}
