import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { directoryPage } from '../src/endpoints/directory-page.ts';
import { journalArgs, UNITS_ARGS } from '../src/node-log/journal.ts';
import { parseNodeLogQuery } from '../src/node-log/node-log-query.ts';
import { patternProblem } from '../src/node-log/pattern-problem.ts';

const parse = (query: string, hasPath = false) => parseNodeLogQuery(new URLSearchParams(query), hasPath);

describe('a log query', () => {
  it.each([
    ['', undefined],
    ['other=1', undefined],
    ['query=kubelet', { services: ['kubelet'], options: {} }],
    ['query=kubelet&query=a@b.c:d_e-f', { services: ['kubelet', 'a@b.c:d_e-f'], options: {} }],
    ['query=+&query=kubelet', { services: ['kubelet'], options: {} }],
    ['query=/foo.log', { services: [], file: '/foo.log', options: {} }],
    ['query=a\\b', { services: [], file: 'a\\b', options: {} }],
    ['query=k&tailLines=0', { services: ['k'], options: { tailLines: 0 } }],
    ['query=k&tailLines=100000', { services: ['k'], options: { tailLines: 100_000 } }],
    [`query=${'a'.repeat(256)}`, { services: ['a'.repeat(256)], options: {} }],
    ['query=a&query=b&query=c&query=d', { services: ['a', 'b', 'c', 'd'], options: {} }],
    ['query=k&sinceTime=2023-01-04T02:00:00Z', { services: ['k'], options: { sinceTime: '2023-01-04T02:00:00Z' } }],
    ['query=k&tailLines=', { services: ['k'], options: {} }],
    ['query=k&boot=-1&pattern=a.b', { services: ['k'], options: { boot: -1, pattern: 'a.b' } }],
    [
      'query=k&sinceTime=2023-01-04T02:00:00Z&untilTime=2023-01-04T02:00:00%2B00:00',
      { services: ['k'], options: { sinceTime: '2023-01-04T02:00:00Z', untilTime: '2023-01-04T02:00:00+00:00' } },
    ],
  ])('log query %s is parsed as %j', (query, expected) => {
    expect(parse(query)).toEqual(expected && { query: expected });
  });

  it.each([
    ['query=', 400, 'query: Invalid value: [""]: may not be empty'],
    ['query=++&query=', 400, 'query: Invalid value: ["  ",""]: may not be empty'],
    ['query=k&sinceTime=yesterday', 400, 'sinceTime: Invalid value: "yesterday": invalid time format'],
    [
      'query=k&untilTime=2023-02-30T00:00:00Z',
      400,
      'untilTime: Invalid value: "2023-02-30T00:00:00Z": invalid time format',
    ],
    [
      'query=k&boot=x&tailLines=1.5',
      400,
      '[boot: Invalid value: "x": strconv.Atoi: parsing "x": invalid syntax, tailLines: Invalid value: "1.5": strconv.Atoi: parsing "1.5": invalid syntax]',
    ],
    ['query=k&boot=1e3', 400, 'boot: Invalid value: "1e3": strconv.Atoi: parsing "1e3": invalid syntax'],
    [
      'query=k&boot=99999999999999999999',
      400,
      'boot: Invalid value: "99999999999999999999": strconv.Atoi: parsing "99999999999999999999": value out of range',
    ],
    [
      'query=k&query=l&query=/a&query=/b',
      406,
      'query: Invalid value: "[/a /b], [k l]": cannot specify a file and service',
    ],
    [
      'query=k&sinceTime=2023-01-04T02:00:00,5Z&untilTime=2023-01-04T02:00:00,4Z',
      406,
      'untilTime: Invalid value: "2023-01-04T02:00:00,4Z": must be after `sinceTime`',
    ],
    ['boot=0', 406, 'query: Required value: cannot be empty with options'],
    ['query=k&query=/f', 406, 'query: Invalid value: "[/f], [k]": cannot specify a file and service'],
    ['query=/a&query=/b', 406, 'query: Invalid value: ["/a","/b"]: cannot specify more than one file'],
    ['query=/a&tailLines=1', 406, 'query: Invalid value: ["/a"]: cannot specify file with options'],
    ['query=k&boot=1', 406, 'boot: Invalid value: 1: must be less than 1'],
    ['query=k&tailLines=-1', 406, 'tailLines: Invalid value: -1: must be between 0 and 100000, inclusive'],
    ['query=k&tailLines=100001', 406, 'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive'],
    [
      'query=k&sinceTime=2023-02-04T02:00:00Z&untilTime=2023-01-04T02:00:00Z',
      406,
      'untilTime: Invalid value: "2023-01-04T02:00:00Z": must be after `sinceTime`',
    ],
    ['query=k;ls', 406, 'query: Invalid value: "k;ls": input contains unsupported characters'],
    ['query=k%00', 406, 'query: Invalid value: "k\\u0000": input contains unsupported characters'],
    ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items'],
    [`query=${'a'.repeat(257)}`, 406, `query: Invalid value: "${'a'.repeat(257)}": length must be less than 256`],
    [
      'query=k&pattern=foo%5C',
      406,
      'pattern: Invalid value: "foo\\\\": error parsing regexp: trailing backslash at end of expression: ``',
    ],
  ])('log query %s is rejected with %d: %s', (query, status, message) => {
    expect(parse(query)).toEqual({ status, message });
  });

  it('a log query may not be combined with a path', () => {
    expect(parse('query=k', true)).toEqual({ status: 406, message: 'path not allowed in query mode' });
    expect(parse('', true)).toBeUndefined();
  });

  it.each([
    ...['a.*b', '(?i)error', '(?i:error)+', '^x{2,3}$', '[[:alpha:]]+', '[x[:alpha:]]', '(?P<name>a)', '(?<name>a)'],
    ...['\\Ax\\z', '\\A*', '\\pL+', '\\p{^Greek}+', '\\x{41}+', '\\\\1', 'a|b', '\\Q(\\E', '\\Q(', '\\Qab\\E*', ''],
    ...['^*', '$+?', '\\b{2}', 'a{1000}', '(a{100}){10}', '(a*){1000}', '(?:a{0}){1000}', 'a{,1001}', 'a{', 'a{01}'],
    ...['a(?i)*', '[]a]', '[^]-]', '[[:foo]', '[:foo:]', '[\\d-z]', '(?P<n>a)(?P<n>b)', '\\123\\08', '\\_'],
    '[\\x{1F600}-\\x{10FFFF}]',
    'a'.repeat(1000),
  ])('accepts the log pattern %s', (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });

  it.each([
    ['(', 'missing closing ): `(`'],
    ['a)', 'unexpected ): `a)`'],
    ['x[a', 'missing closing ]: `[a`'],
    ['+', 'missing argument to repetition operator: `+`'],
    ['(?i)*', 'missing argument to repetition operator: `*`'],
    ['\\Q\\E*', 'missing argument to repetition operator: `*`'],
    ['[z-[:alpha:]]', 'invalid character class range: `z-[`'],
    ['\\C', 'invalid escape sequence: `\\C`'],
    ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?!a)', 'invalid or unsupported Perl syntax: `(?!`'],
    ['(?>a)', 'invalid or unsupported Perl syntax: `(?>`'],
    ['(?|a)', 'invalid or unsupported Perl syntax: `(?|`'],
    ['\\\\(?=', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?<!a)b', 'invalid named capture: `(?<!a)b`'],
    ['x(?<=a>)b', 'invalid named capture: `(?<=a>`'],
    ['(?<>x)', 'invalid named capture: `(?<>`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['\\k<a>', 'invalid escape sequence: `\\k`'],
    ['a\\', 'trailing backslash at end of expression: ``'],
    ['[b-a]', 'invalid character class range: `b-a`'],
    ['a{2,1}', 'invalid repeat count: `{2,1}`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['a{2,1001}?', 'invalid repeat count: `{2,1001}`'],
    ['(a{30}){40}', 'invalid repeat count: `{40}`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['a+?{2}', 'invalid nested repetition operator: `+?{2}`'],
    ['[[:foo:]]', 'invalid character class range: `[:foo:]`'],
    ['[^a[:^foo:]]', 'invalid character class range: `[:^foo:]`'],
    ['[]', 'missing closing ]: `[]`'],
    ['\\x{110000}', 'invalid escape sequence: `\\x{110000`'],
    ['\\xg', 'invalid escape sequence: `\\xg`'],
    ['(?i-)', 'invalid or unsupported Perl syntax: `(?i-)`'],
    ['(?P=n)', 'invalid or unsupported Perl syntax: `(?P`'],
    ['\\p{}', 'invalid character class range: `\\p{}`'],
    ['|*?', 'missing argument to repetition operator: `*?`'],
    ['(?-i-s)', 'invalid or unsupported Perl syntax: `(?-i-`'],
    ['[a-\\d]', 'invalid escape sequence: `\\d`'],
    ['a'.repeat(1001), 'expression too large'],
  ])('refuses the log pattern %s: %s', (pattern, problem) => {
    expect(patternProblem(pattern)).toBe(`error parsing regexp: ${problem}`);
  });

  it('W3: any log query gets a result, and no service name becomes an option of another program', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('kubelet', '-f', '--file=/etc/shadow', '/x', '../y', ' '));
    const members = fc.record({ query: text, boot: text, tailLines: text, pattern: text, sinceTime: text });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), members, (queries, others) => {
        const query = new URLSearchParams(others);
        for (const one of queries) query.append('query', one);
        const parsed = parseNodeLogQuery(query, false);
        if (parsed?.query === undefined) return;
        for (const argument of journalArgs(parsed.query.services, parsed.query.options)) {
          expect(argument).toMatch(
            /^(--(utc|no-pager|output=short-precise|since=|until=|pager-end|lines=\d+$|unit=[\w\-.:@]*$|grep=|boot$)|-?\d+$)/,
          );
        }
      }),
    );
  });
});

describe('arguments of journalctl', () => {
  it('journalctl is called for units that have log entries', () =>
    expect(UNITS_ARGS).toEqual(['--field', '_SYSTEMD_UNIT']));

  const basic = ['--utc', '--no-pager', '--output=short-precise'];

  it.each([
    [[], {}, []],
    [['p1', 'p2'], {}, ['--unit=p1', '--unit=p2']],
    [['p1'], { pattern: 'foo' }, ['--unit=p1', '--grep=foo']],
    [['p1'], { boot: -1 }, ['--unit=p1', '--boot', '-1']],
    [['p1'], { tailLines: 100 }, ['--pager-end', '--lines=100', '--unit=p1']],
    [
      ['p1'],
      { sinceTime: '2023-01-04T02:03:04Z', untilTime: '2023-02-04T02:00:00+02:00' },
      ['--since=2023-1-4 02:3:4 UTC', '--until=2023-2-4 00:0:0 UTC', '--unit=p1'],
    ],
  ])(
    'for the services %j and the options %j, journalctl gets the additional arguments %j',
    (services, options, expected) => {
      expect(journalArgs(services, options)).toEqual([...basic, ...expected]);
    },
  );
});

it("a directory listing has Go's format", () => {
  const { body } = directoryPage([
    { name: 'a b&<"\'>.log', kind: 'file' },
    { name: 'c:d', kind: 'file' },
    { name: 'pods', kind: 'directory' },
    { name: "q?#%'()=$@+,;", kind: 'file' },
  ]);
  expect(body).toBe(
    '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n' +
      '<a href="a%20b&%3C%22%27%3E.log">a b&amp;&lt;&#34;&#39;&gt;.log</a>\n' +
      '<a href="./c:d">c:d</a>\n' +
      '<a href="pods/">pods/</a>\n' +
      '<a href="q%3F%23%25%27%28%29=$@+,;">q?#%&#39;()=$@+,;</a>\n</pre>\n',
  );
});
