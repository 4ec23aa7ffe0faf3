import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArguments } from '../src/flags/parse-arguments.ts';

const SHAPES = [
  { name: 'v', shorthand: 'v' },
  { name: 'help', shorthand: 'h', bareText: 'true' },
  { name: 'max-pods' },
  { name: 'enable-server', bareText: 'true' },
];

const parse = (...argv: string[]): [string, string][] =>
  parseArguments(argv, SHAPES).occurrences.map(({ name, text }) => [name, text]);

describe('parseArguments', () => {
  it.each<[readonly string[], readonly [string, string][]]>([
    [['--max-pods=5'], [['max-pods', '5']]],
    [['--max-pods', '5'], [['max-pods', '5']]],
    [['--max_pods', '5'], [['max-pods', '5']]],
    [['--max-pods='], [['max-pods', '']]],
    [['--max-pods=a=b'], [['max-pods', 'a=b']]],
    [['--max-pods', '--enable-server'], [['max-pods', '--enable-server']]],
    [['--enable-server'], [['enable-server', 'true']]],
    [['--enable-server=false'], [['enable-server', 'false']]],
    [['-v4'], [['v', '4']]],
    [['-v=4'], [['v', '4']]],
    [['-v', '4'], [['v', '4']]],
    [['--v', '4'], [['v', '4']]],
    [
      ['-hv4'],
      [
        ['help', 'true'],
        ['v', '4'],
      ],
    ],
    [['-h=false'], [['help', 'false']]],
    [
      ['--max-pods=1', '--max-pods=2'],
      [
        ['max-pods', '1'],
        ['max-pods', '2'],
      ],
    ],
  ])('parseArguments reads %j as %j', (argv, expected) => {
    expect(parse(...argv)).toEqual(expected);
  });

  it('accepts other arguments between flags, and treats everything after -- as arguments', () => {
    const { occurrences, positional } = parseArguments(['a', '-v', '1', '-', '--', '--max-pods', 'b'], SHAPES);
    expect(occurrences).toEqual([{ name: 'v', text: '1' }]);
    expect(positional).toEqual(['a', '-', '--max-pods', 'b']);
  });

  it('a boolean flag without a value does not take the next argument as its value', () => {
    expect(parseArguments(['--enable-server', 'false'], SHAPES).positional).toEqual(['false']);
  });

  it.each([
    [['--nope'], 'unknown flag: --nope'],
    [['--max-pots=1'], 'unknown flag: --max-pots; did you mean --max-pods?'],
    [['--max-pods'], 'flag needs an argument: --max-pods'],
    [['-v'], "flag needs an argument: 'v' in -v"],
    [['-hx'], "unknown shorthand flag: 'x' in -x"],
    [['---max-pods'], 'bad flag syntax: ---max-pods'],
    [['--=1'], 'bad flag syntax: --=1'],
  ])('parseArguments refuses %j', (argv, message) => {
    expect(parseArguments(argv, SHAPES).problems).toEqual([message]);
  });

  it('lists all problems of a command line, and reads the valid flags', () => {
    const { occurrences, positional, problems } = parseArguments(
      ['--nope', '3', '--max-pods=4', '-x', '--no=5', 'a', '-v'],
      SHAPES,
    );
    expect(problems).toEqual([
      'unknown flag: --nope',
      "unknown shorthand flag: 'x' in -x",
      'unknown flag: --no',
      "flag needs an argument: 'v' in -v",
    ]);
    expect(occurrences).toEqual([{ name: 'max-pods', text: '4' }]);
    expect(positional).toEqual(['a']);
  });

  it('reads every spelling of a flag as the same flag', () => {
    const text = fc.string({ minLength: 1 });
    const flags = fc.array(
      fc.tuple(fc.constantFrom('max-pods', 'v'), text, fc.constantFrom('equals', 'apart', 'short')),
    );
    fc.assert(
      fc.property(flags, (wanted) => {
        const argv = wanted.flatMap(([name, value, form]) => {
          if (form === 'apart') return [`--${name.replace('-', '_')}`, value];
          // pflag reads `-v=` as the value `=`, but `-v=x` as the value `x`.
          if (form === 'short' && name === 'v' && !value.startsWith('=')) return [`-v${value}`];
          return [`--${name}=${value}`];
        });
        expect(parse(...argv)).toEqual(wanted.map(([name, value]) => [name, value]));
      }),
    );
  });

  it('parseArguments reads or refuses any command line without an exception', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '--max-pods', '-v', '-hh', '--enable-server=', '--v'),
    );
    fc.assert(
      fc.property(fc.array(word), (argv) => {
        for (const problem of parseArguments(argv, SHAPES).problems) expect(problem).toMatch(/flag/);
      }),
    );
  });
});
