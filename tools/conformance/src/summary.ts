import type { Evidence } from './evidence.ts';
import type { SpecResult, SpecState, SuiteResult } from './specs.ts';
import { type MachineFacts, unfitReason } from './unfit.ts';

/** What a page tells of one kubelet's run. */
export interface Run {
  /** `node-agent` or `Go kubelet`, or a path. */
  readonly kubelet: string;
  readonly result: SuiteResult;
  readonly evidence: readonly Evidence[];
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
export function impossible(spec: SpecResult, has: MachineFacts, compared?: Run): string | undefined {
  if (spec.state !== 'failed') return undefined;
  const passes = compared?.result.specs.some(({ name, state }) => name === spec.name && state === 'passed') ?? false;
  return passes ? undefined : unfitReason(spec, has);
}

/** The number of specs of each outcome. */
export function counts({ specs }: SuiteResult, has: MachineFacts, compared?: Run): Readonly<Record<Outcome, number>> {
  const count = { passed: 0, failed: 0, impossible: 0, skipped: 0, 'not run': 0 };
  for (const spec of specs) {
    count[impossible(spec, has, compared) === undefined ? spec.state : 'impossible'] += 1;
  }
  return count;
}

/** What a page of all selections tells of one. */
export interface Summary {
  readonly title: string;
  readonly date: string;
  readonly commit: string;
  /** Of the last run. */
  readonly specs: number;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly runs: number;
  /** How many runs, up to the last, had no fault. */
  readonly inARow: number;
  /** The median of all runs. */
  readonly seconds: number;
  /** Of the kubelet that was compared. */
  readonly compared?: { readonly kubelet: string; readonly passed: number; readonly seconds: number };
}

/** What came of a selection, in numbers. */
export function summary(facts: PageFacts, { ours, compared }: Runs): Summary {
  const faultless = ours.map((run) => isFaultless(run, facts.has, compared));
  const last = ours.at(-1);
  if (last === undefined) throw new RangeError('nothing was run');
  return {
    ...{ title: facts.title, date: facts.date, commit: facts.commit },
    specs: last.result.specs.length,
    counts: counts(last.result, facts.has, compared),
    runs: ours.length,
    inARow: faultless.length - 1 - faultless.lastIndexOf(false),
    seconds: Math.round(median(ours.map(({ result }) => result.seconds))),
    ...(compared && {
      compared: {
        kubelet: compared.kubelet,
        passed: counts(compared.result, facts.has).passed,
        seconds: Math.round(compared.result.seconds),
      },
    }),
  };
}

function isFaultless({ result }: Run, has: MachineFacts, compared: Run | undefined): boolean {
  const count = counts(result, has, compared);
  return result.specs.length > 0 && count.failed + count['not run'] + result.problems.length === 0;
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = 0, high = 0] = sorted.length % 2 === 0 ? sorted.slice(middle - 1) : [sorted[middle], sorted[middle]];
  return (low + high) / 2;
}
