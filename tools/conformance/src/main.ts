import { existsSync } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCgroups, readHierarchy } from '@node-agent/cm-cgroups';
import { nodeFileSystem } from '@node-agent/host';
import { BUILT_KUBELET, runCommand } from '@node-agent/tools-bench';
import { type ContainerdBinaries, findContainerd, findOrBuildContainerd24 } from '@node-agent/tools-containerd';
import {
  type ControlPlaneBinaries,
  findControlPlane,
  findUpstreamKubelet,
  KUBERNETES_VERSION,
} from '@node-agent/tools-control-plane';
import type { Evidence } from './evidence.ts';
import { makeMountPoints, removeMountPoints, startInside } from './isolation.ts';
import { type ConformanceOptions, HELP, parseConformanceOptions } from './options.ts';
import { counts, page, type Run } from './page.ts';
import { EVIDENCE, type Plan } from './plan.ts';
import { findPrograms, type Programs } from './programs.ts';
import { run } from './run.ts';
import { readReport, regressions } from './specs.ts';
import { REPORT, selectionArguments } from './suite.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

function say(text: string): void {
  process.stderr.write(`conformance: ${text}\n`);
}

/** What every run is made of. */
interface Parts {
  readonly programs: Programs;
  readonly controlPlane: ControlPlaneBinaries;
  readonly containerd: ContainerdBinaries;
}

async function main(argv: readonly string[]): Promise<number> {
  const options = parseConformanceOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (process.platform !== 'linux' || process.getuid?.() !== 0) throw new Error('a node is run as root on Linux');
  const parts = await findParts(options);
  if (options.list) {
    process.stdout.write(await listSpecs(parts.programs, options));
    return 0;
  }
  const began = { date: new Date(), commit: await commitOfHere() };
  const runs: Run[] = [];
  for (const [name, program] of await kubelets(options)) {
    for (let turn = 1; turn <= options.repeat; turn++) {
      const kubelet = options.repeat > 1 ? `${name} (${turn})` : name;
      say(`${kubelet}: ${program}`);
      runs.push(await runOne(kubelet, program, parts, options));
    }
  }
  return report(runs, parts, options, began);
}

async function findParts(options: ConformanceOptions): Promise<Parts> {
  const containerd = options.installedContainerd ? await findContainerd() : await findOrBuildContainerd24(say);
  if ('reason' in containerd) throw new Error(containerd.reason);
  const controlPlane = await findControlPlane({ say });
  if ('reason' in controlPlane) throw new Error(controlPlane.reason);
  const programs = await findPrograms(say);
  return { programs, controlPlane: controlPlane.binaries, containerd: containerd.binaries };
}

/** The kubelets to run, by the names that the report gives them. */
async function kubelets(options: ConformanceOptions): Promise<readonly (readonly [string, string])[]> {
  const chosen: (readonly [string, string])[] = [];
  if (options.compare) {
    const upstream = await findUpstreamKubelet({ say });
    if ('reason' in upstream) throw new Error(upstream.reason);
    chosen.push(['Go kubelet', upstream.binaries.kubelet]);
  }
  if (options.kubelet === undefined) await access(BUILT_KUBELET);
  chosen.push(
    options.kubelet === undefined ? ['node-agent', BUILT_KUBELET] : [options.kubelet, resolve(options.kubelet)],
  );
  return chosen;
}

async function runOne(kubelet: string, program: string, parts: Parts, options: ConformanceOptions): Promise<Run> {
  const output = resolve(options.output, kubelet.replace(/[^\w.-]+/g, '-'));
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });
  const directory = await mkdtemp('/tmp/na-conf-');
  const group = [directory.slice('/tmp/'.length)];
  const cgroups = await openCgroups({ fs: nodeFileSystem, kill: process.kill.bind(process) });
  const madeDirectories = await makeMountPoints();
  try {
    await cgroups.create(group, {});
    const plan: Plan = { ...parts, directory, output, selection: options, kubelet: program };
    const file = join(directory, 'plan.json');
    await writeFile(file, JSON.stringify(plan));
    await endOfInside(file, await groupDirectories(group[0] ?? ''));
  } finally {
    await cgroups.destroy(group, AbortSignal.timeout(30_000)).catch((error: unknown) => say(String(error)));
    await rm(directory, { recursive: true, force: true });
    await removeMountPoints(madeDirectories);
  }
  const result = readReport(await readFile(join(output, REPORT), 'utf8'));
  const evidence = JSON.parse(await readFile(join(output, EVIDENCE), 'utf8').catch(() => '[]')) as readonly Evidence[];
  const { passed, failed, skipped } = counts(result);
  say(`${kubelet}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${Math.round(result.seconds)} s`);
  return { kubelet, result, evidence };
}

/** The directories of a group, in each hierarchy that has it. */
async function groupDirectories(group: string): Promise<readonly string[]> {
  const hierarchy = await readHierarchy(nodeFileSystem);
  const mounts = hierarchy.version === 1 ? [...hierarchy.mounts.values()] : [hierarchy.mount];
  return mounts.map((mount) => join(mount, group)).filter((directory) => existsSync(directory));
}

/** Runs what is inside the namespaces; the first signal tells it to end, the second ends it. */
async function endOfInside(plan: string, groups: readonly string[]): Promise<void> {
  const child = startInside('./inside/main.ts', [plan], groups);
  let asked = false;
  const end = (): void => {
    if (asked) child.kill('SIGKILL');
    asked = true;
    child.stdin?.end();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, end);
  try {
    const how = await new Promise<string | undefined>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? code}`));
    });
    if (how !== undefined) throw new Error(`the node cannot be run: ${how}`);
  } finally {
    for (const name of signals) process.off(name, end);
  }
}

/** What is run, as git names it; with a plus where files differ from it. */
async function commitOfHere(): Promise<string> {
  const described = await run('git', ['describe', '--always', '--dirty=+', '--exclude=*'], { cwd: ROOT }).catch(
    () => '',
  );
  return described.trim() || 'unknown';
}

async function report(
  runs: readonly Run[],
  { containerd }: Parts,
  options: ConformanceOptions,
  began: { readonly date: Date; readonly commit: string },
): Promise<number> {
  const facts = {
    ...options,
    date: began.date.toISOString().slice(0, 16).replace('T', ' '),
    commit: began.commit,
    kubernetes: KUBERNETES_VERSION,
    containerd: containerd.version,
    machine: `${cpus().length} cores and ${Math.round(totalmem() / 2 ** 30)} GiB`,
  };
  const file = join(resolve(options.output), 'report.md');
  await writeFile(file, page(facts, runs, true));
  if (options.writeDocs) await writeFile(join(ROOT, 'docs/conformance.md'), page(facts, runs, false));
  for (const { result } of runs) for (const problem of result.problems) say(problem);
  const [first, ...others] = runs;
  const compared = options.compare ? first : undefined;
  let faults = runs.flatMap(({ result }) => result.problems).length;
  for (const { kubelet, result } of compared === undefined ? runs : others) {
    const failed = result.specs.filter(({ state }) => state === 'failed');
    for (const { name } of failed) process.stdout.write(`failed with ${kubelet}: ${name}\n`);
    // What no kubelet passes on this machine is not this one's fault.
    const counted = compared === undefined ? failed : regressions(compared.result, result);
    faults += counted.length;
    if (compared === undefined) continue;
    for (const { name } of counted)
      process.stdout.write(`passes with ${compared.kubelet}, not with ${kubelet}: ${name}\n`);
  }
  say(`the report: ${file}`);
  return faults > 0 ? 1 : 0;
}

/** The names of the specs that are chosen, as a dry run tells them. */
async function listSpecs(programs: Programs, options: ConformanceOptions): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'na-conf-list-'));
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
