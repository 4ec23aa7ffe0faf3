import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failedFiles, replaceSuite } from '../again.mjs';
import { readReports } from '../reports.mjs';

const test = (status: string, fullName = status) => ({ status, fullName, failureMessages: [] });
const suite = (name: string, ...statuses: string[]) => ({
  name,
  status: statuses.includes('failed') ? 'failed' : 'passed',
  assertionResults: statuses.map((status) => test(status)),
});

describe('replaceSuite', () => {
  const report = {
    numPassedTests: 5,
    numFailedTests: 2,
    numPendingTests: 1,
    numTodoTests: 0,
    testResults: [suite('a', 'passed', 'failed', 'failed'), suite('b', 'passed', 'passed', 'skipped')],
  };

  it('a suite that ran again replaces the former results of the same file and their counts', () => {
    const again = suite('a', 'passed', 'passed', 'skipped');
    expect(replaceSuite(report, again)).toEqual({
      ...report,
      numPassedTests: 6,
      numFailedTests: 0,
      numPendingTests: 2,
      testResults: [again, report.testResults[1]],
    });
  });

  it('a suite that ran again counts tests that the first run did not reach, because the file could not be loaded', () => {
    const unloaded = { ...report, numFailedTests: 0, testResults: [{ ...suite('a'), status: 'failed' }] };
    const again = replaceSuite(unloaded, suite('a', 'passed', 'failed'));
    expect(again).toMatchObject({ numPassedTests: 6, numFailedTests: 1, testResults: [{ status: 'failed' }] });
  });
});

describe('readReports', () => {
  const manifest = 'tools/test/package.json';
  let root: string;

  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), 'reports-'));
    // `readReports` lists the packages of this checkout, but reads their reports and manifests from `root`.
    for (const each of manifests()) {
      fs.mkdirSync(path.join(root, path.dirname(each), '.reports'), { recursive: true });
      fs.writeFileSync(path.join(root, each), JSON.stringify({ name: each }));
    }
    fs.writeFileSync(path.join(root, manifest), JSON.stringify({ name: 'tested', scripts: { test: 'vitest run' } }));
  });
  afterEach(() => fs.rmSync(root, { recursive: true }));

  const write = (testResults: unknown[]) => {
    const counts = { numPassedTests: 1, numFailedTests: 0, numPendingTests: 1, numTodoTests: 0 };
    const file = path.join(root, 'tools/test/.reports/vitest.json');
    fs.writeFileSync(file, JSON.stringify({ ...counts, testResults }));
  };

  it('a package with tests but without a report counts as failed', () => {
    expect(readReports(root)).toMatchObject({
      passed: 0,
      failed: 1,
      faults: [expect.stringContaining('no test report')],
    });
  });

  it('a file that could not be loaded counts as failed and is named', () => {
    write([{ ...suite(path.join(root, 'x.test.ts')), status: 'failed', message: 'cannot load' }]);
    expect(readReports(root)).toMatchObject({ passed: 1, failed: 1, skipped: 1, faults: ['x.test.ts: cannot load'] });
    expect(failedFiles(root)).toEqual([{ folder: path.join(root, 'tools/test'), file: path.join(root, 'x.test.ts') }]);
  });

  it('the sum of all reports lists skipped tests by name', () => {
    write([suite(path.join(root, 'x.test.ts'), 'passed', 'skipped')]);
    expect(readReports(root)).toMatchObject({ failed: 0, lines: [expect.any(String), '  skipped: skipped'] });
  });
});

/** Returns the manifests of this checkout's packages, as the reports look for them. */
function manifests(): string[] {
  const checkout = path.resolve(import.meta.dirname, '../../..');
  return ['apps', 'packages', 'tools'].flatMap((group) =>
    fs
      .readdirSync(path.join(checkout, group))
      .map((name) => `${group}/${name}/package.json`)
      .filter((file) => fs.existsSync(path.join(checkout, file))),
  );
}
