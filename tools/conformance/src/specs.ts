/** How a spec went. */
export type SpecState = 'passed' | 'failed' | 'skipped' | 'not run';

/** A spec of a suite, and what came of it. */
export interface SpecResult {
  /** Its whole name, as ginkgo's `--focus` matches it. */
  readonly name: string;
  readonly labels: readonly string[];
  readonly state: SpecState;
  readonly seconds: number;
  /** The spec's own words: of a failure, or of why it was skipped. */
  readonly message: string;
  /** Where it failed. */
  readonly location: string;
  /** What it logged. */
  readonly output: string;
}

/** A ginkgo JSON report, as much of it as is read (`types.Report` of ginkgo v2). */
interface GinkgoReport {
  readonly SuiteSucceeded: boolean;
  readonly SpecialSuiteFailureReasons?: readonly string[] | null;
  readonly RunTime: number;
  readonly SpecReports: readonly GinkgoSpec[] | null;
}

interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly ContainerHierarchyLabels: readonly (readonly string[] | null)[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly LeafNodeLabels: readonly string[] | null;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: {
    readonly Message?: string;
    readonly Location?: { readonly FileName?: string; readonly LineNumber?: number };
  };
  readonly CapturedGinkgoWriterOutput?: string;
}

/** A whole run of a suite. */
export interface SuiteResult {
  readonly specs: readonly SpecResult[];
  /** What failed beside specs: a set-up of the suite, or the suite as a whole, as one does that has none. */
  readonly problems: readonly string[];
  readonly seconds: number;
}

const STATES: Readonly<Record<string, SpecState>> = {
  passed: 'passed',
  skipped: 'skipped',
  pending: 'not run',
  '': 'not run',
};

/**
 * Reads a report that ginkgo wrote with `--json-report`. Specs that the selection left out are left out.
 * @throws SyntaxError, TypeError where it is none
 */
export function readReport(text: string): SuiteResult {
  const [report] = JSON.parse(text) as readonly GinkgoReport[];
  if (report === undefined)
    throw new TypeError(
      'the report has no suite: one of its processes was killed, or never began; ginkgo.log tells what it said',
    );
  const specs: SpecResult[] = [];
  const problems = [...(report.SpecialSuiteFailureReasons ?? [])];
  for (const spec of report.SpecReports ?? []) {
    const result = resultOf(spec);
    if (spec.LeafNodeType === 'It') {
      if (!isLeftOut(spec)) specs.push(result);
    } else if (result.state === 'failed') {
      problems.push(`${spec.LeafNodeType} ${spec.LeafNodeText}: ${result.message}`.trim());
    }
  }
  const told = problems.length > 0 || specs.some(({ state }) => state === 'failed');
  if (!report.SuiteSucceeded && !told) problems.push('the suite failed, and says of no spec that it did');
  if (specs.length === 0 && problems.length === 0) problems.push('no spec was run');
  return { specs, problems, seconds: seconds(report.RunTime) };
}

function resultOf(spec: GinkgoSpec): SpecResult {
  const { FileName = '', LineNumber = 0 } = spec.Failure?.Location ?? {};
  return {
    name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
    labels: [
      ...(spec.ContainerHierarchyLabels ?? []).flatMap((labels) => labels ?? []),
      ...(spec.LeafNodeLabels ?? []),
    ],
    // All that is neither is a failure, by whatever name: panicked, interrupted, timedout, aborted.
    state: STATES[spec.State] ?? 'failed',
    seconds: seconds(spec.RunTime),
    message: spec.Failure?.Message ?? '',
    location: FileName === '' ? '' : `${FileName.replace(/^.*?(?=test\/e2e)/, '')}:${LineNumber}`,
    output: spec.CapturedGinkgoWriterOutput ?? '',
  };
}

/** Ginkgo has a spec that was not chosen skipped without a word; one that skips itself says why. */
function isLeftOut({ State, Failure }: GinkgoSpec): boolean {
  return State === 'skipped' && (Failure?.Message ?? '') === '';
}

/** Go has durations in nanoseconds. */
function seconds(nanoseconds: number): number {
  return nanoseconds / 1e9;
}
