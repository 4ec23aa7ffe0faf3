import type { StdioOptions } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BUILT_KUBELET, runCommand } from '@node-agent/tools-bench';
import { type ContainerdBinaries, findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import {
  type ControlPlaneBinaries,
  findControlPlane,
  findUpstreamKubelet,
  KUBERNETES_VERSION,
} from '@node-agent/tools-control-plane';
import {
  destroyGroup,
  groupDirectories,
  hasProcesses,
  makeGroup,
  makeMountPoints,
  startIsolated,
} from '@node-agent/tools-isolation';
import { PAGE, takeReports } from './claim.ts';
import { type ConformanceDocument, parseData, withPart } from './document.ts';
import { ENDING, withEndSignal } from './ending.ts';
import type { Findings } from './evidence.ts';
import { forLeftRuns, makeRunDirectory, OWN_DIRECTORIES, removeMountPoints } from './isolation.ts';
import { type ConformanceOptions, HELP, parseConformanceOptions } from './options.ts';
import { page } from './page.ts';
import { EVIDENCE, type Plan } from './plan.ts';
import { expectKubelet, findPrograms, missingPrograms, type Programs } from './programs.ts';
import { run } from './run.ts';
import { SELECTIONS } from './selections.ts';
import { findSidecars, type Sidecars } from './sidecars.ts';
import { readReport } from './specs.ts';
import { REPORT, selectionArguments } from './suite.ts';
import {
  counts,
  impossible,
  type PageFacts,
  type Run,
  type Runs,
  regressions,
  runOf,
  type Summary,
  summary,
} from './summary.ts';
import { machineFacts } from './unfit.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/reports/conformance.md');
const DOCUMENT_DATA = join(ROOT, 'docs/reports/conformance.json');

/**
 * Parent directory of the run directories. The path is short, because the run directories contain Unix sockets, whose
 * paths have a maximum length.
 */
const RUNS = '/tmp';

/** Exit code for skipped tests, as in automake. */
const SKIPPED = 77;

function say(text: string): void {
  process.stderr.write(`conformance: ${text}\n`);
}

/** Programs that every run needs. */
interface Parts {
  readonly programs: Programs;
  readonly sidecars?: Sidecars;
  readonly controlPlane: ControlPlaneBinaries;
  readonly containerd: ContainerdBinaries;
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseConformanceOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('must run as root on Linux');
  const missing = options.there ? await missingPrograms() : [];
  if (missing.length > 0) {
    say(`skipped: missing ${missing.join(', ')}; building takes many minutes`);
    return SKIPPED;
  }
  const parts = await findParts(options);
  if (options.list) {
    process.stdout.write(await listSpecs(parts.programs, options));
    return 0;
  }
  const began = { date: new Date(), commit: await commitOfHere() };
  if (options.writeDocs) await expectOnMain(began.commit);
  const { compared, tested } = await kubelets(options);
  const before = options.continues ? parseData((await readDocument()).data)[options.selection] : undefined;
  const earlier = before?.turns.length ?? 0;
  const facts = await pageFacts(parts, options, began);
  await takeReports(resolve(options.output, options.selection));
  return withEndSignal(async (interrupted) => {
    await forLeftRuns(RUNS, removeLeftRun);
    const mountPoints = await makeMountPoints(OWN_DIRECTORIES);
    const started: Promise<unknown>[] = [];
    const cancelStarts = new AbortController();
    const begin = (name: string, program: string): (() => Promise<Run>) => {
      const one = async (): Promise<Run> => {
        interrupted.throwIfAborted();
        say(`${name}: ${program}`);
        return runOne(name, program, parts, options, interrupted);
      };
      if (options.apart === undefined) return one;
      const run = sleep(started.length * options.apart * 60_000, undefined, {
        signal: AbortSignal.any([interrupted, cancelStarts.signal]),
      }).then(one);
      // An error of this run is reported when its result is awaited.
      started.push(run.catch(() => {}));
      return () => run;
    };
    try {
      const other = compared === undefined ? undefined : begin('Go kubelet', compared);
      const turns = Array.from({ length: options.repeat }, (_, index) => {
        const name = earlier + options.repeat > 1 ? `${tested.name} (${earlier + index + 1})` : tested.name;
        return begin(name, tested.program);
      });
      const comparedRun = await other?.();
      const ours: Run[] = [];
      let faults = 0;
      for (const turn of turns) {
        ours.push(await turn());
        // A run may take hours, so its results are written before the next run is awaited.
        faults += await report(facts, { ours, compared: comparedRun }, before, options);
      }
      return faults > 0 ? 1 : 0;
    } finally {
      cancelStarts.abort();
      await Promise.all(started);
      await removeMountPoints(mountPoints);
    }
  });
}

/** Reads the files that `--docs` writes. A file that is missing is empty. */
async function readDocument(): Promise<ConformanceDocument> {
  const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
  return { page: await read(DOCUMENT), data: await read(DOCUMENT_DATA) };
}

async function findParts(options: ConformanceOptions): Promise<Parts> {
  const containerd = options.installedContainerd ? await findContainerd() : await findOrBuildContainerd24(say);
  if ('reason' in containerd) throw new Error(containerd.reason);
  const controlPlane = await findControlPlane({ say });
  if ('reason' in controlPlane) throw new Error(controlPlane.reason);
  const programs = await findPrograms(say);
  const binaries = { controlPlane: controlPlane.binaries, containerd: containerd.binaries };
  return { programs, ...binaries, ...(options.deploysDrivers && { sidecars: await findSidecars(say) }) };
}

/**
 * Returns the kubelets to run: the tested kubelet with its name in the report, and the Go kubelet if it is requested.
 */
async function kubelets(
  options: ConformanceOptions,
): Promise<{ readonly compared?: string; readonly tested: { readonly name: string; readonly program: string } }> {
  const { kubelet } = options;
  const tested =
    kubelet === undefined
      ? { name: 'node-agent', program: BUILT_KUBELET }
      : { name: kubelet, program: resolve(kubelet) };
  await expectKubelet(tested.program);
  if (!options.compare) return { tested };
  const upstream = await findUpstreamKubelet({ say });
  if ('reason' in upstream) throw new Error(upstream.reason);
  return { tested, compared: upstream.binaries.kubelet };
}

async function runOne(
  kubelet: string,
  program: string,
  parts: Parts,
  options: ConformanceOptions,
  interrupted: AbortSignal,
): Promise<Run> {
  const output = resolve(options.output, options.selection, kubelet.replace(/[^\w.-]+/g, '-'));
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const { name, giveBack } = await makeRunDirectory(RUNS);
  const directory = join(RUNS, name);
  try {
    const groups = await makeGroup(name);
    const plan: Plan = { ...parts, directory, output, selection: options, kubelet: program };
    const file = join(directory, 'plan.json');
    await writeFile(file, JSON.stringify(plan));
    await endOfInside(file, groups, interrupted);
  } finally {
    await removeRun(name);
    await giveBack();
  }
  const findings = JSON.parse(await readFile(join(output, EVIDENCE), 'utf8')) as Findings;
  const ended = runOf(kubelet, readReport(await readFile(join(output, REPORT), 'utf8')), findings);
  const { result } = ended;
  const { passed, failed, impossible, skipped } = counts(result, await machineFacts());
  say(
    `${kubelet}: ${passed} passed, ${failed} failed, ${impossible} impossible here, ${skipped} skipped in ${Math.round(result.seconds)} s`,
  );
  return ended;
}

/** Kills the processes in a run's cgroups, and removes the cgroups and the directory. */
async function removeRun(name: string): Promise<void> {
  await destroyGroup(name).catch((error: unknown) => say(String(error)));
  await rm(join(RUNS, name), { recursive: true, force: true });
}

/** Removes the cgroups and the directory of a run whose command was killed, unless processes of the run still exist. */
async function removeLeftRun(name: string): Promise<void> {
  if (await hasProcesses(await groupDirectories(name))) return;
  say(`removing leftovers of ${join(RUNS, name)}`);
  await removeRun(name);
}

/** Runs the program inside the namespaces. The first signal requests it to stop; the second kills it. */
async function endOfInside(plan: string, groups: readonly string[], interrupted: AbortSignal): Promise<void> {
  const program = fileURLToPath(new URL('./inside/main.ts', import.meta.url));
  // The end of the program's standard input requests the program to stop.
  const stdio: StdioOptions = ['pipe', 'inherit', 'inherit'];
  const child = startIsolated([process.execPath, ...process.execArgv, program, plan], {
    namespaces: 'machine',
    groups,
    stdio,
  });
  let isEndRequested = false;
  const end = (): void => {
    if (isEndRequested) child.kill('SIGKILL');
    isEndRequested = true;
    child.stdin?.end();
  };
  for (const name of ENDING) process.on(name, end);
  if (interrupted.aborted) end();
  try {
    const how = await new Promise<string | undefined>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code, signal) => resolve(code === 0 ? undefined : `exited with ${signal ?? code}`));
    });
    // An interrupted run gives no result, and no further run starts.
    if (isEndRequested) throw new Error('interrupted by a signal');
    if (how !== undefined) throw new Error(`run the node: ${how}`);
  } finally {
    for (const name of ENDING) process.off(name, end);
  }
}

/**
 * Returns the short commit hash. A plus is appended if files differ from the commit, except for the reports that this
 * command writes.
 */
async function commitOfHere(): Promise<string> {
  const git = (...args: readonly string[]): Promise<string> => run('git', args, { cwd: ROOT });
  try {
    const commit = (await git('rev-parse', '--short', 'HEAD')).trim();
    const differing = await git(
      'status',
      '--porcelain',
      '--untracked-files=no',
      '--',
      '.',
      ':!docs/reports/conformance.*',
    );
    return differing.trim() === '' ? commit : `${commit}+`;
  } catch {
    return 'unknown';
  }
}

/**
 * Checks that the commit is on main, because other readers can find only commits on main.
 * @throws Error if the commit is not on main
 */
async function expectOnMain(commit: string): Promise<void> {
  const isOf = async (branch: string): Promise<boolean> =>
    run('git', ['merge-base', '--is-ancestor', 'HEAD', branch], { cwd: ROOT }).then(
      () => true,
      () => false,
    );
  if (commit.endsWith('+')) throw new Error(`--docs: files differ from commit ${commit.slice(0, -1)}`);
  if ((await isOf('main')) || (await isOf('origin/main'))) return;
  throw new Error(`--docs: commit ${commit} is not on main`);
}

async function pageFacts(
  { containerd }: Parts,
  options: ConformanceOptions,
  began: { readonly date: Date; readonly commit: string },
): Promise<PageFacts> {
  return {
    ...options,
    title: SELECTIONS[options.selection].title,
    date: began.date.toISOString().slice(0, 16).replace('T', ' '),
    commit: began.commit,
    kubernetes: KUBERNETES_VERSION,
    containerd: containerd.version,
    machine: `${cpus().length} cores and ${Math.round(totalmem() / 2 ** 30)} GiB`,
    has: await machineFacts(),
  };
}

/**
 * Writes the results of the runs so far and reports the failures of the last run. @returns the number of its failures
 */
async function report(
  facts: PageFacts,
  runs: Runs,
  before: Summary | undefined,
  options: ConformanceOptions,
): Promise<number> {
  const all = summary(facts, runs, before);
  const file = join(resolve(options.output), options.selection, PAGE);
  await writeFile(file, page(facts, runs, all, true));
  if (options.writeDocs) {
    const text = page(facts, runs, all, false);
    const document = withPart(await readDocument(), options.selection, all, text);
    await writeFile(DOCUMENT_DATA, document.data);
    await writeFile(DOCUMENT, document.page);
  }
  const last = runs.ours.at(-1);
  const faults = last === undefined ? 0 : reportFaults(last, facts, all.compared);
  say(`wrote report ${file}`);
  return faults;
}

/**
 * Reports each failure of a run by name. Specs that no kubelet passes on this machine are not counted. @returns the
 * number of failures
 */
function reportFaults({ kubelet, result }: Run, { has }: PageFacts, compared: Summary['compared']): number {
  const { problems, specs } = result;
  for (const problem of problems) say(`${kubelet}: ${problem}`);
  const failed = specs.filter((spec) => spec.state === 'failed' && impossible(spec, has, compared) === undefined);
  for (const { name } of failed) process.stdout.write(`failed with ${kubelet}: ${name}\n`);
  if (compared === undefined) return problems.length + failed.length;
  const counted = regressions(compared, result);
  for (const { name } of counted)
    process.stdout.write(`passes with ${compared.kubelet}, but not with ${kubelet}: ${name}\n`);
  return problems.length + counted.length;
}

/** Returns the names of the selected specs, determined by a dry run. */
async function listSpecs(programs: Programs, options: ConformanceOptions): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'na-specs-'));
  try {
    const args = ['--dry-run', ...selectionArguments(options), `--json-report=${join(directory, REPORT)}`];
    await run(programs[`${options.suite}.test`], [
      ...args.map((arg) => arg.replace(/^--/, '--ginkgo.')),
      ...(options.suite === 'e2e' ? ['--provider=skeleton'] : []),
    ]);
    const { specs } = readReport(await readFile(join(directory, REPORT), 'utf8'));
    return specs.map(({ name }) => `${name}\n`).join('');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

runCommand(main, say);
