// `npm test`: runs all checks of the repository and prints a summary. A failing check does not stop the others, so that
// one run shows all failures. Arguments select steps by name.
//
// The end-to-end tests mostly wait: for runtimes, control planes and grace periods. They run at the same time as the
// checks and tests that need the processors, which have a lower priority, so that the end-to-end tests are not delayed.
import { spawn } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { failedFiles, runAgain } from './again.mjs';
import { runLanes, selectSteps } from './lanes.mjs';
import { clearReports, readReports } from './reports.mjs';

const nx = (target, ...args) => ['nx', 'run-many', '-t', target, '--output-style=static', '--parallel=2', ...args];
const testsOf = (...names) => nx('test', `--projects=${names.join(',')}`, '--parallel=1');

/** Time in ms after which the output of an exited command counts as complete. */
const PIPES_MS = 5_000;
/** Priority of the lanes that need the processors: the lanes with end-to-end tests get three quarters of the time. */
const NICE = 5;
/** Projects with their own lanes. All other tests run in one lane, two projects at a time. */
const NODES = ['@node-agent/kubelet'];
const RUNTIMES = ['@node-agent/tools-standalone', '@node-agent/fake-cri'];
const SIMULATION = ['@node-agent/simulation'];
const OTHERS = `--exclude=${[...NODES, ...RUNTIMES, ...SIMULATION].join(',')}`;

/** Exit code of a command that was skipped and has printed the reason. */
const SKIPPED = 77;

/**
 * Lanes, which run at the same time, and their steps, which run one after another. A step with `after` also waits for
 * steps of other lanes. A step with `needs` waits for them, too, and cannot be selected without them. The result of
 * steps with `tests: true` comes from vitest's reports instead of the command's exit code.
 */
const lanes = [
  {
    steps: [
      { name: 'system packages', command: ['node', 'tools/test/system-packages.mjs'] },
      { name: 'generate', command: nx('generate') },
      { name: 'control plane', command: ['node', 'tools/test/control-plane.mjs'] },
      { name: 'tests of nodes', command: testsOf(...NODES), tests: true },
    ],
  },
  {
    steps: [
      { name: 'tests of runtimes', after: ['generate', 'control plane'], command: testsOf(...RUNTIMES), tests: true },
    ],
  },
  {
    nice: NICE,
    steps: [{ name: 'simulation', after: ['generate'], command: testsOf(...SIMULATION), tests: true }],
  },
  {
    nice: NICE,
    steps: [
      { name: 'layers', command: ['node', 'tools/checks/layers.mjs'] },
      { name: 'manifests', command: ['node', 'tools/checks/manifests.mjs'] },
      { name: 'brands', command: ['node', 'tools/checks/brands.mjs'] },
      { name: 'defaults', command: ['node', 'tools/checks/defaults.mjs'] },
      { name: 'pod fields', command: ['node', 'tools/checks/pod-fields.mjs'] },
      { name: 'examples', command: ['node', 'tools/checks/examples.mjs'] },
      { name: 'format and lint', command: ['biome', 'ci', '--diagnostic-level=error', '.'] },
      {
        name: 'misuse',
        needs: ['generate'],
        command: [
          'node',
          '--conditions=@node-agent/source',
          '--disable-warning=ExperimentalWarning',
          'tools/checks/misuse.mjs',
        ],
      },
      { name: 'types', needs: ['generate'], command: ['node', 'tools/checks/types.mjs'] },
      { name: 'unused exports and dependencies', command: ['knip', '--no-progress', '--no-config-hints'] },
      { name: 'build', after: ['generate'], command: nx('build') },
      { name: 'API site', command: ['node', 'tools/packaging/src/docs/main.ts'] },
      { name: 'public surface', command: ['node', 'tools/packaging/src/api/main.ts'] },
      { name: 'package quality', command: ['node', 'tools/packaging/src/quality/main.ts'] },
      { name: 'packages alone', command: ['node', 'tools/checks/alone.mjs'] },
      { name: 'two versions', command: ['node', 'tools/checks/two-versions.mjs'] },
      {
        name: 'release rehearsal',
        command: ['node', '--conditions=@node-agent/source', 'tools/packaging/src/release/main.ts', 'rehearse'],
      },
      // Without the programs of the control plane, some of these tests would be skipped.
      { name: 'other tests', after: ['control plane'], command: nx('test', OTHERS), tests: true },
    ],
  },
];

/** Runs after all lanes and after the failed tests were run again, with the machine to itself. */
const last = [{ steps: [{ name: 'conformance slice', command: ['node', 'tools/test/conformance.mjs'] }] }];

const wanted = process.argv.slice(2);
const { known, unknown, chosen } = selectSteps([...lanes, ...last], wanted);
if (unknown.length > 0) {
  console.error(`unknown step: ${unknown.join(', ')}; must be one of: ${known.join(', ')}`);
  process.exit(2);
}
const isOnlyStep = chosen.flatMap(({ steps }) => steps).length === 1;

const totals = { passed: 0, failed: 0, skipped: 0 };
const faults = [];
/** Failed commands of steps with tests. */
const failedTests = [];
const running = new Set();
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(signal));

clearReports(root);
const firstLanes = chosen.slice(0, lanes.length);
await runLanes(firstLanes, runStep);
if (isStopping) await new Promise(() => {});
if (firstLanes.some(({ steps }) => steps.some(({ tests }) => tests))) countTests();
await runLanes(chosen.slice(lanes.length), runStep);

if (faults.length > 0) console.log(`\nFailures:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
console.log(`\nreports: ${path.join('*', '.reports')}`);
console.log(
  `${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}`,
);
process.exit(totals.failed > 0 ? 1 : 0);

/** Runs a step and counts its result. The output of steps that run at the same time is printed step by step. */
async function runStep(step, { nice }) {
  if (isStopping) return;
  const startedAt = performance.now();
  const { status, output } = await execute(step.command, nice, step.name);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const skipped = status === SKIPPED;
  const ok = status === 0 || skipped;
  if (step.tests) {
    if (!ok) failedTests.push(`${step.name}: ${step.command[0]} exited with ${status} without a failed test`);
  } else {
    totals[skipped ? 'skipped' : ok ? 'passed' : 'failed'] += 1;
    if (!ok) faults.push(`${step.name}: ${step.command.join(' ')}`);
  }
  output();
  console.log(`=== ${step.name}: ${skipped ? 'skipped' : ok ? 'ok' : 'FAILED'} in ${seconds} s`);
}

/** Runs a command to its end. @returns its exit code or signal, and a function that prints its output */
function execute([file, ...args], nice, name) {
  const stdio = isOnlyStep ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'];
  const env = { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) };
  const child = spawn(file, args, { cwd: root, stdio, env });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  const output = () => {
    console.log(`\n=== ${name}`);
    process.stdout.write(Buffer.concat(chunks.splice(0)));
  };
  if (isOnlyStep) output();
  else console.log(`... ${name}`);
  running.add(child);
  if (nice !== undefined && child.pid !== undefined) os.setPriority(child.pid, nice);
  return new Promise((resolve) => {
    const end = (status) => {
      running.delete(child);
      resolve({ status, output: isOnlyStep ? () => {} : output });
    };
    child.on('error', (error) => end(error.message));
    child.on('close', (code, signal) => end(code ?? signal));
    // A process that the command left behind may keep the pipes open.
    child.on('exit', (code, signal) => setTimeout(() => end(code ?? signal), PIPES_MS).unref());
  });
}

/** Stops all commands. Each step then prints what its command has printed so far. */
async function stop(signal) {
  isStopping = true;
  const ends = [...running].map((child) => new Promise((resolve) => child.once('close', resolve)));
  for (const child of running) child.kill(signal);
  await Promise.all(ends);
  // The steps print their output now; nothing is counted or run again.
  setImmediate(() => process.exit(1));
}

/** Runs failed test files again and counts the tests of all packages. */
function countTests() {
  const failedBefore = failedFiles(root).length;
  if (failedTests.length > 0) runAgain(root);
  const report = readReports(root);
  for (const line of report.lines) console.log(line);
  totals.passed += report.passed;
  totals.failed += report.failed;
  totals.skipped += report.skipped;
  faults.push(...report.faults);
  // The tests also fail if a test runner fails without a failed test, for example because of a syntax error or a
  // package without a report.
  if (failedTests.length > 0 && failedBefore === 0 && report.failed === 0) {
    totals.failed += failedTests.length;
    faults.push(...failedTests);
  }
}
