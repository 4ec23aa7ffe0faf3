import { describe, expect, test } from 'vitest';
import { SUITES, suiteCommand } from '../src/share.ts';

describe('suiteCommand', () => {
  test('suiteCommand runs all suites even if one fails, and exits with the status of the last failing suite', () => {
    const command = suiteCommand(['groups', 'pressure']);
    const lines = command.split('\n');
    expect(lines.filter((line) => line.endsWith('|| status=$?')).map((line) => /\/(\w+)\.js/.exec(line)?.[1])).toEqual([
      'groups',
      'pressure',
    ]);
    expect(lines.at(-1)).toBe('exit $status');
  });

  test('the command of the suite "compare" has no test reporter', () => {
    expect(suiteCommand(['compare'])).not.toContain('--test-reporter');
  });

  test('only suites that run on request need the Go kubelet', () => {
    const needing = Object.entries(SUITES).filter(([, takes]) => takes.includes('upstream'));
    expect(needing.map(([name]) => name)).toEqual(['compare', 'numa', 'e2e-node']);
  });
});
