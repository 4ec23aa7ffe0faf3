import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { ConformanceOptions } from './options.ts';

/** Which specs. */
export type Selection = Pick<ConformanceOptions, 'labels' | 'focus' | 'skip' | 'processes'>;

/** What a run of e2e.test needs to know of its cluster. */
export interface SuitePlaces {
  readonly ginkgo: string;
  readonly suite: string;
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly runtime: string;
  /** Where reports and logs go. */
  readonly output: string;
}

/** The reports that a run leaves in its output. */
export const REPORT = 'report.json';
const JUNIT = 'junit.xml';

/** Ginkgo's own arguments for a choice of specs. */
export function selectionArguments({ labels, focus, skip }: Omit<Selection, 'processes'>): readonly string[] {
  return [
    ...(labels === '' ? [] : [`--label-filter=${labels}`]),
    ...focus.map((pattern) => `--focus=${pattern}`),
    ...skip.map((pattern) => `--skip=${pattern}`),
  ];
}

/** What ginkgo is started with. */
export function suiteArguments(selection: Selection, places: SuitePlaces): readonly string[] {
  return [
    ...selectionArguments(selection),
    `--procs=${selection.processes}`,
    '--timeout=6h',
    '--no-color',
    '--silence-skips',
    '--poll-progress-after=0',
    `--output-dir=${places.output}`,
    `--json-report=${REPORT}`,
    `--junit-report=${JUNIT}`,
    places.suite,
    '--',
    `--kubeconfig=${places.kubeconfig}`,
    `--kubectl-path=${places.kubectl}`,
    '--provider=skeleton',
    '--num-nodes=1',
    '--node-os-distro=debian',
    `--node-os-arch=${process.arch === 'x64' ? 'amd64' : process.arch}`,
    `--container-runtime-endpoint=${places.runtime}`,
    // What a failed spec made is looked at before it goes.
    '--delete-namespace-on-failure=false',
    '--disable-log-dump=true',
    `--e2e-output-dir=${places.output}`,
  ];
}

/**
 * Runs a suite to its end; it is interrupted where the signal is aborted, and writes its reports then too.
 * @returns its exit code: 0 where nothing failed
 */
export async function runSuite(selection: Selection, places: SuitePlaces, signal: AbortSignal): Promise<number> {
  const log = createWriteStream(join(places.output, 'ginkgo.log'));
  const child = spawn(places.ginkgo, [...suiteArguments(selection, places)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: places.output,
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const interrupt = (): void => void child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => resolve(code ?? 1));
    });
  } finally {
    signal.removeEventListener('abort', interrupt);
    log.end();
  }
}
