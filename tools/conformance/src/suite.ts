import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { ConformanceOptions } from './options.ts';

/** Choice of specs. */
export type Selection = Pick<
  ConformanceOptions,
  'suite' | 'labels' | 'focus' | 'skip' | 'common' | 'processes' | 'seed'
> & {
  /** Whether ginkgo's log names each spec when it ends, with the output of the spec. Default: only failed specs. */
  readonly verbose?: boolean;
};

/** Source directory of the specs that both suites contain. */
const COMMON = 'test/e2e/common/';

/** Suite program with its arguments. */
export interface SuiteProgram {
  readonly ginkgo: string;
  readonly suite: string;
  /** Program-specific arguments in addition to the common ones. */
  readonly args: readonly string[];
  /** Directory that is prepended to PATH. */
  readonly path?: string;
  /** Directory for reports and logs. */
  readonly output: string;
}

/** Returns the cluster arguments of e2e.test. */
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

/**
 * Returns the arguments of e2e_node.test. The suite starts an API server and the kubelet itself; it leaves them
 * running, so that failed specs can be examined.
 */
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
    // Images are pulled when a spec needs them, like ordinary pulls.
    '--prepull-images=false',
    '--stop-services=false',
    // With a PID file, specs would look for the runtime in the machine's file; without it, they find the runtime by its
    // name.
    '--container-runtime-pid-file=',
    `--report-dir=${places.output}`,
  ];
}

/** File name of ginkgo's JSON report in the output directory. */
export const REPORT = 'report.json';

const PROGRESS_MS = 60_000;

/** Returns ginkgo's arguments for a choice of specs. */
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

/** Returns all arguments of ginkgo. */
export function suiteArguments(selection: Selection, program: SuiteProgram, runtime: string): readonly string[] {
  return [
    ...selectionArguments(selection),
    `--procs=${selection.processes}`,
    `--seed=${selection.seed}`,
    '--timeout=6h',
    '--no-color',
    ...(selection.verbose ? ['-v'] : []),
    '--silence-skips',
    '--poll-progress-after=0',
    `--output-dir=${program.output}`,
    `--json-report=${REPORT}`,
    program.suite,
    '--',
    ...program.args,
    `--container-runtime-endpoint=${runtime}`,
    // Objects of a failed spec are kept, so that evidence can be collected.
    '--delete-namespace-on-failure=false',
  ];
}

/** Progress of a run, derived from ginkgo's output. */
export interface Progress {
  readonly chosen: number;
  readonly passed: number;
  readonly failed: number;
}

/**
 * Counts specs in ginkgo's output without colours: a bullet for each passed spec, and a heading for each failed one.
 */
export function progressOf(log: string): Progress {
  const chosen = Number(/Will run (\d+) of/.exec(log)?.[1] ?? 0);
  const failed = log.match(/^• \[(FAILED|PANICKED|TIMEDOUT|INTERRUPTED|ABORTED)\]/gm)?.length ?? 0;
  const ended = log.match(/•/g)?.length ?? 0;
  return { chosen, passed: ended - failed, failed };
}

/** Runs a suite to its end and interrupts it when the signal is aborted. In both cases the suite writes its reports. */
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
  // Ginkgo does not forward signals to its processes, so the signal is sent to the whole process group, as a terminal
  // does.
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
