/** Outcome of a spec. */
export type SpecState = 'passed' | 'failed' | 'skipped' | 'not run';

/** Spec of a suite with its result. */
export interface SpecResult {
  /** Full name, as matched by ginkgo's `--focus`. */
  readonly name: string;
  readonly labels: readonly string[];
  readonly state: SpecState;
  readonly seconds: number;
  /** Message of the failure, or reason for the skip. */
  readonly message: string;
  /** Source location of the failure. */
  readonly location: string;
  /** Log output of the spec. */
  readonly output: string;
}

/** The required fields of ginkgo's JSON report (`types.Report` of ginkgo v2). */
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

/** Result of a complete suite run. */
export interface SuiteResult {
  readonly specs: readonly SpecResult[];
  /** Failures outside specs: a failed set-up, or a failure of the suite as a whole. */
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
 * Parses a report that ginkgo wrote with `--json-report`. Specs outside the selection are omitted.
 * @throws SyntaxError, TypeError if the text is not such a report
 */
export function readReport(text: string): SuiteResult {
  const [report] = JSON.parse(text) as readonly GinkgoReport[];
  if (report === undefined)
    throw new TypeError('report contains no suite: a process was killed or did not start; see ginkgo.log');
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
  const isExplained = problems.length > 0 || specs.some(({ state }) => state === 'failed');
  if (!report.SuiteSucceeded && !isExplained) problems.push('suite failed without a failed spec');
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
    // All other states are failures: panicked, interrupted, timedout, aborted.
    state: STATES[spec.State] ?? 'failed',
    seconds: seconds(spec.RunTime),
    message: spec.Failure?.Message ?? '',
    location: FileName === '' ? '' : `${FileName.replace(/^.*?(?=test\/e2e)/, '')}:${LineNumber}`,
    output: spec.CapturedGinkgoWriterOutput ?? '',
  };
}

/**
 * Returns whether a spec is outside the selection. Ginkgo marks such a spec as skipped without a message; a spec that
 * skips itself has a message.
 */
function isLeftOut({ State, Failure }: GinkgoSpec): boolean {
  return State === 'skipped' && (Failure?.Message ?? '') === '';
}

/** Converts Go's nanoseconds to seconds. */
function seconds(nanoseconds: number): number {
  return nanoseconds / 1e9;
}
