import { describe, expect, test } from 'vitest';
import { HELP, parseOptions } from '../src/options.ts';
import { SUITES } from '../src/share.ts';

describe('parseOptions of test-v2', () => {
  test.each([
    [[], { what: 'test', suites: ['groups', 'pressure', 'kubelet', 'shutdown', 'package', 'volumes'] }],
    [['test', 'compare'], { what: 'test', suites: ['compare'] }],
    [
      ['test', 'e2e-node', '--focus', 'CPU Manager', '--focus', 'Memory', '--upstream', '--output', 'out'],
      {
        what: 'test',
        suites: ['e2e-node'],
        specs: { focus: ['CPU Manager', 'Memory'], skip: [], upstream: true, output: 'out' },
      },
    ],
    [['build'], { what: 'build' }],
    [['run', 'id -u', '--share', '/tmp'], { what: 'run', command: 'id -u', share: '/tmp' }],
    [['--help'], { what: 'help' }],
  ])('parseOptions of test-v2 parses %j', (argv, expected) => {
    expect(parseOptions(argv)).toEqual(expected);
  });

  test.each([
    [
      ['test', 'group'],
      'unknown suite "group"; must be one of groups, pressure, kubelet, shutdown, package, compare, numa, volumes, e2e-node',
    ],
    [['pressure'], 'unknown command "pressure"; must be test, build or run'],
    [['run'], "run: must have one command in quotes: run 'COMMAND'"],
    [['run', 'id', 'whoami'], "run: must have one command in quotes: run 'COMMAND'"],
    [['build', 'groups'], 'build: must have no arguments: remove groups'],
    [['test', 'numa', '--focus', 'CPU'], '--focus: requires the suite e2e-node'],
    [['build', '--upstream'], '--upstream: requires the suite e2e-node'],
    [['--share', '/tmp'], '--share: requires the command run'],
    [['--nope'], "Unknown option '--nope'"],
  ])('parseOptions of test-v2 rejects %j and names the invalid argument', (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(message);
  });

  test('the help names every suite', () => {
    for (const suite of Object.keys(SUITES)) expect(HELP).toContain(suite);
  });
});
