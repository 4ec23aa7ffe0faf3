// Reads vitest's reports from each package's .reports/vitest.json. nx restores these files for cached runs, so the
// counts are the same whether or not the tests of a package ran now.
import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { workspaceManifests } from '../bootstrap/toolchain.mjs';

const reportOf = (root, manifest) => path.join(root, path.dirname(manifest), '.reports/vitest.json');

/** Removes the reports of earlier runs, so that a package whose tests did not run is not counted. */
export function clearReports(root) {
  for (const manifest of workspaceManifests()) fs.rmSync(reportOf(root, manifest), { force: true });
}

/**
 * Sums up all reports. In the result, `lines` has one line per package, and `faults` one line per failed test or file.
 */
export function readReports(root) {
  const sum = { passed: 0, failed: 0, skipped: 0, lines: [], faults: [] };
  for (const manifest of workspaceManifests()) {
    const { name, scripts } = JSON.parse(fs.readFileSync(path.join(root, manifest), 'utf8'));
    if (!scripts?.test) continue;
    const file = reportOf(root, manifest);
    if (!fs.existsSync(file)) {
      sum.failed += 1;
      sum.faults.push(`${name}: no test report: its tests did not run to the end`);
      continue;
    }
    const report = JSON.parse(fs.readFileSync(file, 'utf8'));
    const skipped = report.numPendingTests + report.numTodoTests;
    sum.passed += report.numPassedTests;
    sum.failed += report.numFailedTests;
    sum.skipped += skipped;
    sum.lines.push(
      `${name}: ${report.numPassedTests} passed, ${report.numFailedTests} failed${skipped ? `, ${skipped} skipped` : ''}`,
    );
    for (const suite of report.testResults) {
      const where = path.relative(root, suite.name);
      // A file that could not be loaded has no test results, but counts as one failure.
      if (suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed')) {
        sum.failed += 1;
        sum.faults.push(`${where}: ${suite.message}`);
      }
      for (const test of suite.assertionResults) {
        if (test.status === 'failed') sum.faults.push(`${where}: ${test.fullName}\n${reasonOf(test)}`);
        if (test.status === 'pending' || test.status === 'skipped') sum.lines.push(`  skipped: ${test.fullName}`);
      }
    }
  }
  return sum;
}

/**
 * Returns the first line and the last lines of a failure message. The message may quote a long log, whose end shows the
 * cause.
 */
function reasonOf({ failureMessages = [] }) {
  const lines = stripVTControlCharacters(failureMessages.join('\n'))
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  const shown = lines.length > 6 ? [lines[0], '...', ...lines.slice(-5)] : lines;
  return shown.map((line) => `      ${line.slice(0, 300)}`).join('\n');
}
