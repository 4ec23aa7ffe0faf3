import type { Evidence, Findings } from './evidence.ts';
import type { ClusterFeatures } from './selections.ts';
import type { SpecResult, SpecState, SuiteResult } from './specs.ts';
import { type MachineFacts, unfitReason } from './unfit.ts';

/** Run of one kubelet, as the report shows it. */
export interface Run {
  /** `node-agent`, `Go kubelet` or a path. */
  readonly kubelet: string;
  readonly result: SuiteResult;
  readonly evidence: readonly Evidence[];
}

/**
 * Makes a run from its results. If the kubelet exited before the end of the run, the exit is added as a problem, even
 * if all specs passed.
 */
export function runOf(kubelet: string, result: SuiteResult, { kubeletEnded, evidence }: Findings): Run {
  if (kubeletEnded === undefined) return { kubelet, result, evidence };
  const problems = [...result.problems, `kubelet exited unexpectedly: ${kubeletEnded}`];
  return { kubelet, result: { ...result, problems }, evidence };
}

/** Runs of a selection: all runs of the tested kubelet, and the run of the compared kubelet. */
export interface Runs {
  readonly ours: readonly Run[];
  readonly compared?: Run | undefined;
}

/** Facts that all runs of a report share. */
export interface PageFacts {
  /** Title of the selection. */
  readonly title: string;
  readonly date: string;
  readonly commit: string;
  readonly kubernetes: string;
  readonly containerd: string;
  readonly suite: string;
  readonly labels: string;
  readonly focus: readonly string[];
  readonly skip: readonly string[];
  readonly cluster: ClusterFeatures;
  readonly processes: number;
  /** Number of cores and size of memory. */
  readonly machine: string;
  /** Capabilities of the machine. */
  readonly has: MachineFacts;
}

/** Outcome of a spec in a report. Specs that no kubelet passes on the machine are counted separately. */
export type Outcome = SpecState | 'impossible';

/**
 * Returns the reason why a failed spec is not counted as a failure: no kubelet passes it on this machine, and the
 * compared kubelet did not pass it, either.
 */
export function impossible(spec: SpecResult, has: MachineFacts, compared?: ComparedTurn): string | undefined {
  if (spec.state !== 'failed') return undefined;
  return compared !== undefined && passedIn(compared, spec) ? undefined : unfitReason(spec, has);
}

/** Returns the specs that did not pass in a run, but passed with the compared kubelet. */
export function regressions(compared: ComparedTurn, { specs }: SuiteResult): readonly SpecResult[] {
  return specs.filter((spec) => spec.state !== 'passed' && passedIn(compared, spec));
}

function passedIn({ notPassed }: ComparedTurn, { name }: SpecResult): boolean {
  return !Object.hasOwn(notPassed, name);
}

/** Counts the specs of each outcome. */
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

/** Numbers of a run, which are kept after the report of the run was deleted. */
export interface Turn {
  readonly kubelet: string;
  readonly date: string;
  readonly commit: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly seconds: number;
  /** Whether all specs were run and nothing failed, in specs and outside. */
  readonly faultless: boolean;
}

/** Run of the compared kubelet. */
export interface ComparedTurn extends Turn {
  /** States of the specs that did not pass, by name. */
  readonly notPassed: Readonly<Record<string, SpecState>>;
}

/** Results of one selection in the document. */
export interface Summary {
  readonly title: string;
  /** Runs of the tested kubelet, in chronological order. */
  readonly turns: readonly Turn[];
  readonly compared?: ComparedTurn;
}

/**
 * Summarises the runs of a selection.
 * @param before earlier results, which are continued if the number of specs is unchanged
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

/** Returns the number of specs. */
export function specsOf({ counts }: Turn): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Returns the number of consecutive runs without a failure, up to the last one. */
export function inARow({ turns }: Summary): number {
  return turns.length - 1 - turns.findLastIndex(({ faultless }) => !faultless);
}

/**
 * Returns the usual duration of a run: the median in whole seconds. If runs took place at the same time as the compared
 * kubelet's run, only these runs count, because the speed of a machine varies.
 */
export function usualSeconds({ turns, compared }: Summary): number {
  const beside = turns.filter(({ date }) => date === compared?.date);
  const sorted = (beside.length > 0 ? beside : turns).map(({ seconds }) => seconds).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = 0] = sorted.length % 2 === 0 ? sorted.slice(middle - 1) : [sorted[middle], sorted[middle]];
  return Math.round((low + high) / 2);
}
