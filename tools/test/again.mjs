// Runs the test files that failed once more, one after another. If other suites run at the same time on two cores, an
// end-to-end test may time out because it gets too little CPU time; run alone, it must pass. Every file that passes
// only when run alone is printed.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { workspaceManifests } from '../bootstrap/toolchain.mjs';

/** Maximum number of failed files that are run again. More failures than this are not caused by chance. */
const MOST = 6;

/** Returns the failed test files, each with the folder of its package. */
export function failedFiles(root) {
  const failed = [];
  for (const manifest of workspaceManifests()) {
    const folder = path.join(root, path.dirname(manifest));
    const report = readReport(folder, 'vitest.json');
    for (const { name, status } of report?.testResults ?? [])
      if (status === 'failed') failed.push({ folder, file: name });
  }
  return failed;
}

/** Runs failed files again and puts their new results into the packages' reports. */
export function runAgain(root) {
  const failed = failedFiles(root);
  if (failed.length > MOST) return;
  for (const { folder, file } of failed) {
    const where = path.relative(root, file);
    console.log(`\nrunning again by itself: ${where}`);
    const args = ['run', path.relative(folder, file), '--outputFile.json=.reports/again.json'];
    const result = spawnSync('vitest', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
    const again = readReport(folder, 'again.json');
    const suite = again?.testResults.find(({ name }) => name === file);
    fs.rmSync(path.join(folder, '.reports/again.json'), { force: true });
    if (suite === undefined) continue;
    const report = replaceSuite(readReport(folder, 'vitest.json'), suite);
    fs.writeFileSync(path.join(folder, '.reports/vitest.json'), JSON.stringify(report));
    console.log(result.status === 0 ? `passed when run by itself: ${where}` : `failed again: ${where}`);
  }
}

/** Returns a report in which a suite's results replace the former results of the same file. */
export function replaceSuite(report, suite) {
  const former = report.testResults.find(({ name }) => name === suite.name);
  const difference = (status) => count(suite, status) - count(former, status);
  return {
    ...report,
    numPassedTests: report.numPassedTests + difference('passed'),
    numFailedTests: report.numFailedTests + difference('failed'),
    numPendingTests: report.numPendingTests + difference('pending') + difference('skipped'),
    testResults: report.testResults.map((result) => (result === former ? suite : result)),
  };
}

function count({ assertionResults }, status) {
  return assertionResults.filter((test) => test.status === status).length;
}

function readReport(folder, name) {
  const file = path.join(folder, '.reports', name);
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : undefined;
}
