// `npm test`: runs all checks of the repository one after another and prints a summary. A failing check does not stop
// the others, so that one run shows all failures. Arguments select steps by name.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { failedFiles, runAgain } from './again.mjs';
import { clearReports, readReports } from './reports.mjs';

const nx = (target, ...args) => ['nx', 'run-many', '-t', target, '--output-style=static', '--parallel=2', ...args];

/** Exit code of a command that was skipped and has printed the reason. */
const SKIPPED = 77;

/**
 * Steps with name and command. The result of a step with `tests: true` comes from vitest's reports instead of the
 * command's exit code.
 */
const steps = [
  { name: 'system packages', command: ['node', 'tools/test/system-packages.mjs'] },
  { name: 'control plane', command: ['node', 'tools/test/control-plane.mjs'] },
  { name: 'layers', command: ['node', 'tools/checks/layers.mjs'] },
  { name: 'manifests', command: ['node', 'tools/checks/manifests.mjs'] },
  { name: 'brands', command: ['node', 'tools/checks/brands.mjs'] },
  { name: 'defaults', command: ['node', 'tools/checks/defaults.mjs'] },
  { name: 'pod fields', command: ['node', 'tools/checks/pod-fields.mjs'] },
  { name: 'examples', command: ['node', 'tools/checks/examples.mjs'] },
  { name: 'format and lint', command: ['biome', 'ci', '--diagnostic-level=error', '.'] },
  { name: 'generate', command: nx('generate') },
  {
    name: 'misuse',
    command: [
      'node',
      '--conditions=@node-agent/source',
      '--disable-warning=ExperimentalWarning',
      'tools/checks/misuse.mjs',
    ],
  },
  { name: 'types', command: ['node', 'tools/checks/types.mjs'] },
  { name: 'unused exports and dependencies', command: ['knip', '--no-progress', '--no-config-hints'] },
  { name: 'build', command: nx('build') },
  { name: 'API site', command: ['node', 'tools/packaging/src/docs/main.ts'] },
  { name: 'public surface', command: ['node', 'tools/packaging/src/api/main.ts'] },
  { name: 'package quality', command: ['node', 'tools/packaging/src/quality/main.ts'] },
  { name: 'packages alone', command: ['node', 'tools/checks/alone.mjs'] },
  { name: 'two versions', command: ['node', 'tools/checks/two-versions.mjs'] },
  {
    name: 'release rehearsal',
    command: ['node', '--conditions=@node-agent/source', 'tools/packaging/src/release/main.ts', 'rehearse'],
  },
  { name: 'tests', command: nx('test'), tests: true },
  { name: 'conformance slice', command: ['node', 'tools/test/conformance.mjs'] },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`unknown step: ${unknown.join(', ')}; must be one of: ${steps.map((step) => step.name).join(', ')}`);
  process.exit(2);
}

const totals = { passed: 0, failed: 0, skipped: 0 };
const faults = [];
clearReports(root);
for (const step of steps) {
  if (wanted.length > 0 && !wanted.includes(step.name)) continue;
  console.log(`\n=== ${step.name}`);
  const startedAt = performance.now();
  const [file, ...args] = step.command;
  const result = spawnSync(file, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const skipped = result.status === SKIPPED;
  const ok = result.status === 0 || skipped;
  if (step.tests) {
    const failedBefore = failedFiles(root).length;
    if (!ok) runAgain(root);
    const report = readReports(root);
    for (const line of report.lines) console.log(line);
    totals.passed += report.passed;
    totals.failed += report.failed;
    totals.skipped += report.skipped;
    faults.push(...report.faults);
    // The step also fails if the test runner fails without a failed test, for example because of a syntax error or a
    // package without a report.
    if (!ok && failedBefore === 0 && report.failed === 0) {
      totals.failed += 1;
      faults.push(`${step.name}: ${file} exited with ${result.status ?? result.signal} without a failed test`);
    }
  } else {
    totals[skipped ? 'skipped' : ok ? 'passed' : 'failed'] += 1;
    if (!ok) faults.push(`${step.name}: ${step.command.join(' ')}`);
  }
  console.log(`=== ${step.name}: ${skipped ? 'skipped' : ok ? 'ok' : 'FAILED'} in ${seconds} s`);
}

if (faults.length > 0) console.log(`\nFailures:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
console.log(`\nreports: ${path.join('*', '.reports')}`);
console.log(
  `${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}`,
);
process.exit(totals.failed > 0 ? 1 : 0);
