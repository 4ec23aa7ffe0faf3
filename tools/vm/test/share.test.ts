import { describe, expect, test } from 'vitest';
import { SUITES, suiteCommand } from '../src/share.ts';

describe('the command that runs suites', () => {
  test('runs each, whatever became of the one before, and fails with the last that failed', () => {
    const command = suiteCommand(['groups', 'pressure']);
    const lines = command.split('\n');
    expect(lines.filter((line) => line.endsWith('|| status=$?')).map((line) => /\/(\w+)\.js/.exec(line)?.[1])).toEqual([
      'groups',
      'pressure',
    ]);
    expect(lines.at(-1)).toBe('exit $status');
  });

  test('compares without a reporter of tests', () => {
    expect(suiteCommand(['compare'])).not.toContain('--test-reporter');
  });

  test('the Go kubelet is taken along only where it is compared with', () => {
    expect(Object.entries(SUITES).filter(([, takes]) => takes.includes('upstream'))).toHaveLength(1);
  });
});
