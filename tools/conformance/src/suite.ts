import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ConformanceOptions } from './options.ts';

/** Which specs. */
export type Selection = Pick<
  ConformanceOptions,
  'suite' | 'labels' | 'focus' | 'skip' | 'common' | 'processes' | 'seed'
>;

/** The sources of specs that both suites have. */
const COMMON = 'test/e2e/common/';

/** A program of a suite, and what it is told. */
export interface SuiteProgram {
  readonly ginkgo: string;
  readonly suite: string;
  /** Of the program's own, beside those of all. */
  readonly args: readonly string[];
  /** Added to PATH before all else. */
  readonly path?: string;
  /** Where reports and logs go. */
  readonly output: string;
}

/** What e2e.test is told of its cluster. */
export function clusterArguments(places: {
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly output: string;
}): readonly string[] {
  return [
    `--kubeconfig=${places.kubeconfig}`,
    `--kubectl-path=${places.kubectl}`,
    '--provider=skeleton',
    '--num-nodes=1',
    '--node-os-distro=debian',
    `--node-os-arch=${process.arch === 'x64' ? 'amd64' : process.arch}`,
    '--disable-log-dump=true',
    `--e2e-output-dir=${places.output}`,
    `--report-dir=${places.output}`,
  ];
}

/** What e2e_node.test is told: it starts an API server and the kubelet by itself, and leaves them for a look at what failed. */
export function nodeArguments(places: {
  readonly programs: string;
  readonly configuration: string;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly token: string;
  readonly output: string;
}): readonly string[] {
  return [
    `--k8s-bin-dir=${places.programs}`,
    `--kubelet-config-file=${places.configuration}`,
    `--kubelet-flags=--cluster-domain=cluster.local --node-ip=${places.nodeAddress}`,
    '--dns-domain=cluster.local',
    `--node-name=${places.nodeName}`,
    `--bearer-token=${places.token}`,
    // Images are pulled when they are asked for, and then as anybody pulls them.
    '--prepull-images=false',
    '--stop-services=false',
    // Specs that end the runtime find it by its name; that file would be the machine's.
    '--container-runtime-pid-file=',
    `--report-dir=${places.output}`,
  ];
}

/** The report that a run leaves in its output, beside the suite's own JUnit file. */
export const REPORT = 'report.json';

const PROGRESS_MS = 60_000;

/** Ginkgo's own arguments for a choice of specs. */
export function selectionArguments({
  suite,
  labels,
  focus,
  skip,
  common,
}: Omit<Selection, 'processes' | 'seed'>): readonly string[] {
  return [
    ...(labels === '' ? [] : [`--label-filter=${labels}`]),
    ...focus.map((pattern) => `--focus=${pattern}`),
    ...skip.map((pattern) => `--skip=${pattern}`),
    ...(suite === 'e2e_node' && !common ? [`--skip-file=${COMMON}`] : []),
  ];
}

/** What ginkgo is started with. */
export function suiteArguments(selection: Selection, program: SuiteProgram, runtime: string): readonly string[] {
  return [
    ...selectionArguments(selection),
    `--procs=${selection.processes}`,
    `--seed=${selection.seed}`,
    '--timeout=6h',
    '--no-color',
    '--silence-skips',
    '--poll-progress-after=0',
    `--output-dir=${program.output}`,
    `--json-report=${REPORT}`,
    program.suite,
    '--',
    ...program.args,
    `--container-runtime-endpoint=${runtime}`,
    // What a failed spec made is looked at before it goes.
    '--delete-namespace-on-failure=false',
  ];
}

/** How far a run is, by what ginkgo has printed so far. */
export interface Progress {
  readonly chosen: number;
  readonly passed: number;
  readonly failed: number;
}

/** Counts what ginkgo prints without colours: a point for each spec that passed, and a heading for each that did not. */
export function progressOf(log: string): Progress {
  const chosen = Number(/Will run (\d+) of/.exec(log)?.[1] ?? 0);
  const failed = log.match(/^• \[(FAILED|PANICKED|TIMEDOUT|INTERRUPTED|ABORTED)\]/gm)?.length ?? 0;
  const ended = log.match(/•/g)?.length ?? 0;
  return { chosen, passed: ended - failed, failed };
}

/** Runs a suite to its end; it is interrupted where the signal is aborted. What came of it is in its reports, which it writes then too. */
export async function runSuite(
  selection: Selection,
  program: SuiteProgram,
  runtime: string,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const log = createWriteStream(join(program.output, 'ginkgo.log'));
  const path = [...(program.path === undefined ? [] : [program.path]), process.env.PATH ?? ''].join(delimiter);
  const child = spawn(program.ginkgo, [...suiteArguments(selection, program, runtime)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: program.output,
    env: { ...process.env, PATH: path },
    detached: true,
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const timer = setInterval(() => {
    const { chosen, passed, failed } = progressOf(printed);
    say(`${passed} passed and ${failed} failed of ${chosen}`);
  }, PROGRESS_MS);
  // Ginkgo hands no signal on: its processes are told with it, as a terminal tells them.
  const interrupt = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGINT'));
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    await new Promise<void>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', () => resolve());
    });
  } finally {
    signal.removeEventListener('abort', interrupt);
    clearInterval(timer);
    log.end();
  }
}
