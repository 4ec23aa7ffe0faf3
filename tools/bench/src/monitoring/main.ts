import { execFile } from 'node:child_process';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ContainerdBinaries, findOrBuildContainerd24, PAUSE_IMAGE } from '@node-agent/tools-containerd';
import { type ControlPlane, findUpstreamKubelet } from '@node-agent/tools-control-plane';
import { BenchNode } from '../bench-node.ts';
import { BUILT_KUBELET, inDirectoryOfItsOwn, runCommand, subnetsForPods } from '../command.ts';
import { KubeletCalls } from '../kubelet-call.ts';
import { sleep, until } from '../waiting.ts';
import { autoscale, endAutoscaling, type ScaledWorkload } from './autoscaling.ts';
import { ownComplaints, promtoolComplaints } from './complaints.ts';
import { checkHollowNodes } from './hollow.ts';
import { hollowFindingsText, hollowProblems } from './hollow-report.ts';
import { MetricsServer } from './metrics-server.ts';
import { HELP, type MonitoringOptions, parseMonitoringOptions } from './options.ts';
import { startControlPlane } from './plane.ts';
import { ALL_PROGRAMS, findMonitoringPrograms, type MonitoringPrograms } from './programs.ts';
import { PAGES, Prometheus } from './prometheus.ts';
import { type Findings, findingsText, problemsOf } from './report.ts';

const run = promisify(execFile);
const NODE = 'watched';

/** Workload that computes all the time. */
const BUSY: ScaledWorkload = {
  container: {
    ...{ name: 'main', image: PAUSE_IMAGE, imagePullPolicy: 'IfNotPresent' },
    command: ['sh', '-c', 'trap "exit 0" TERM; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done'],
    resources: { requests: { cpu: '50m' }, limits: { cpu: '200m' } },
  },
  maxReplicas: 2,
};

/** Writes progress to the standard error stream. The standard output contains only the results. */
function say(text: string): void {
  process.stderr.write(`monitoring: ${text}\n`);
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseMonitoringOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  return options.hollow ? await checkHollow(options) : await checkNode(options);
}

async function checkHollow({ pods, programs: directoryOfPrograms, json }: MonitoringOptions): Promise<number> {
  const programs = await findMonitoringPrograms(['metrics-server'], directoryOfPrograms, say);
  return inDirectoryOfItsOwn('na-monitoring-', async (directory, signal) => {
    const setting = { pods, directory, metricsServer: programs['metrics-server'], say };
    const findings = await checkHollowNodes(setting, signal);
    const problems = hollowProblems(findings);
    const shown = json ? `${JSON.stringify({ ...findings, problems }, null, 2)}\n` : hollowFindingsText(findings);
    process.stdout.write(shown);
    return problems.length === 0 ? 0 : 1;
  });
}

async function checkNode(options: MonitoringOptions): Promise<number> {
  await access(BUILT_KUBELET);
  const programs = await findMonitoringPrograms(ALL_PROGRAMS, options.programs, say);
  return inDirectoryOfItsOwn('na-monitoring-', async (directory, signal) => {
    const findings = await check(options, programs, directory, signal);
    process.stdout.write(options.json ? `${JSON.stringify(findings, null, 2)}\n` : findingsText(findings));
    return problemsOf(findings).length === 0 ? 0 : 1;
  });
}

async function check(
  options: MonitoringOptions,
  programs: MonitoringPrograms,
  directory: string,
  signal: AbortSignal,
): Promise<Findings> {
  const runtime = await findOrBuildContainerd24(say);
  if ('reason' in runtime) throw new Error(runtime.reason);
  const upstream = options.alone ? undefined : await findUpstreamKubelet({ say });
  if (upstream !== undefined && 'reason' in upstream) throw new Error(upstream.reason);
  const [goSubnet, subnet] = subnetsForPods();
  const controlPlane = await startControlPlane(directory, say);
  const machine = { controlPlane, binaries: runtime.binaries, directory, signal };
  try {
    const theirs =
      upstream && (await pagesOfGo({ ...machine, program: upstream.binaries.kubelet, subnet: goSubnet, programs }));
    return await checkOurs({ ...machine, program: BUILT_KUBELET, subnet, programs }, options, theirs);
  } finally {
    await controlPlane.stop();
  }
}

interface Setting {
  readonly controlPlane: ControlPlane;
  readonly binaries: ContainerdBinaries;
  readonly program: string;
  readonly subnet: string;
  readonly directory: string;
  readonly programs: MonitoringPrograms;
  readonly signal: AbortSignal;
}

/** Returns promtool's complaints about the Go kubelet's pages, by page. */
async function pagesOfGo(setting: Setting): Promise<ReadonlyMap<string, readonly string[]>> {
  const { controlPlane, binaries, program, subnet, directory, signal, programs } = setting;
  say('checking the pages of the Go kubelet');
  const plan = { controlPlane, binaries, program, subnet, nodeName: 'go', directory: join(directory, 'go') };
  await using node = await BenchNode.start(plan, signal);
  await node.addPods(2, signal);
  await sleep(15_000, signal);
  return await checkedPages(node, programs.promtool, join(directory, 'go-pages'));
}

async function checkOurs(
  { controlPlane, binaries, program, subnet, directory, signal, programs }: Setting,
  { minutes, intervalSeconds, pods }: MonitoringOptions,
  theirs: ReadonlyMap<string, readonly string[]> | undefined,
): Promise<Findings> {
  const plan = { controlPlane, binaries, program, subnet, nodeName: NODE, directory: join(directory, NODE) };
  await using node = await BenchNode.start(plan, signal);
  await node.addPods(pods, signal);
  const { cert, key } = controlPlane.admin;
  const [certFile, keyFile] = [join(directory, 'admin.crt'), join(directory, 'admin.key')];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key, { mode: 0o600 });
  const address = `127.0.0.1:${node.port}`;
  say('starting Prometheus and metrics-server');
  const places = (name: string): string => join(directory, name);
  const scraped = { address, certFile, keyFile };
  const prometheus = await Prometheus.start(
    programs.prometheus,
    places('prometheus'),
    scraped,
    intervalSeconds,
    signal,
  );
  try {
    const beganMs = performance.now();
    const metricsServer = await MetricsServer.start(programs['metrics-server'], controlPlane, places('ms'), signal);
    try {
      const top = await kubectlTop(controlPlane, pods, signal);
      say('testing an autoscaler');
      const autoscaled = await autoscale(controlPlane, BUSY, signal);
      await endAutoscaling(controlPlane);
      const ours = await checkedPages(node, programs.promtool, places('pages'));
      const leftMs = minutes * 60_000 - (performance.now() - beganMs);
      if (leftMs > 0) say(`waiting for ${Math.ceil(leftMs / 1000)} s more of scrapes`);
      await sleep(Math.max(0, leftMs), signal);
      return {
        ...{ minutes, intervalSeconds, top, autoscaled },
        pages: await prometheus.pages(minutes),
        leftOut: await prometheus.leftOut(),
        promtool: PAGES.map((path) => {
          const complaints = ours.get(path) ?? [];
          return {
            path,
            complaints,
            own: ownComplaints(complaints, theirs?.get(path)),
            compared: theirs !== undefined,
          };
        }),
        complaints: [...(await prometheus.complaints()), ...(await metricsServer.complaints())],
      };
    } finally {
      await metricsServer.stop();
    }
  } finally {
    await prometheus.stop();
  }
}

/** Returns promtool's complaints about the current content of each page. */
async function checkedPages(
  node: BenchNode,
  promtool: string,
  directory: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  await mkdir(directory, { recursive: true });
  const calls = new KubeletCalls(node.caller);
  const complaintsOf = new Map<string, readonly string[]>();
  try {
    for (const path of PAGES) {
      const file = join(directory, path.replaceAll('/', '_'));
      await writeFile(file, await calls.page(path));
      // promtool exits with 3 if it has complaints.
      const output = await run('sh', ['-c', '"$0" check metrics <"$1" 2>&1', promtool, file]).then(
        ({ stdout }) => stdout,
        (error: { readonly stdout?: string }) => error.stdout ?? String(error),
      );
      complaintsOf.set(path, promtoolComplaints(output));
    }
  } finally {
    calls.close();
  }
  return complaintsOf;
}

/**
 * Waits until kubectl top shows the node and all pods, for which metrics-server must have scraped each of them twice.
 * Returns the output of kubectl top.
 */
async function kubectlTop(
  plane: ControlPlane,
  pods: number,
  signal: AbortSignal,
): Promise<{ node: string; pods: string }> {
  let shown = { node: '', pods: '' };
  const isThere = async (): Promise<boolean> => {
    const top = (...args: string[]): Promise<string> => plane.kubectl(['top', ...args]).catch(() => '');
    shown = { node: await top('node', NODE), pods: await top('pod') };
    return shown.node.includes(NODE) && shown.pods.trim().split('\n').length === pods + 1;
  };
  await until('kubectl top shows the node and all pods', isThere, signal, { everyMs: 2000 });
  return shown;
}

runCommand(main, say);
