import { describe, expect, test } from 'vitest';
import { HELP, parseOptions } from '../src/options.ts';
import { SUITES } from '../src/share.ts';

describe('the command line of test-v2', () => {
  test.each([
    [[], { what: 'test', suites: ['groups', 'pressure', 'kubelet', 'shutdown'] }],
    [['test', 'compare'], { what: 'test', suites: ['compare'] }],
    [['build'], { what: 'build' }],
    [['run', 'id -u', '--share', '/tmp'], { what: 'run', command: 'id -u', share: '/tmp' }],
    [['--help'], { what: 'help' }],
  ])('%j', (argv, asked) => {
    expect(parseOptions(argv)).toEqual(asked);
  });

  test.each([
    [['test', 'group'], 'no suite "group"; there are groups, pressure, kubelet, shutdown, compare'],
    [['pressure'], 'unknown command "pressure"; there are test, build and run'],
    [['run'], "run: want one command, in quotes: run 'COMMAND'"],
    [['run', 'id', 'whoami'], "run: want one command, in quotes: run 'COMMAND'"],
    [['build', 'groups'], 'build takes nothing more: leave out groups'],
    [['--share', '/tmp'], '--share is for run alone'],
    [['--nope'], "Unknown option '--nope'"],
  ])('%j is refused by name', (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(message);
  });

  test('its help names every suite', () => {
    for (const suite of Object.keys(SUITES)) expect(HELP).toContain(suite);
  });
});
