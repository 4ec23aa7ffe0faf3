import { Scalar } from '@node-agent/yaml';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../src/yaml-documents.ts';

const valuesOf = (text: string): unknown[] => readYaml(text).documents.map(({ value }) => value);
const problemsOf = (text: string): string[] =>
  readYaml(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`);

describe('readYaml', () => {
  it.each([
    ['a: yes\nb: off\nc: "yes"', { a: true, b: false, c: 'yes' }],
    ['mode: 0644\nhex: 0x10\nbig: 1_000', { mode: 420, hex: 16, big: 1000 }],
    ['a: 0o644\nb: -0O17\nc: 0X1F\nd: 0B11\ne: 0o9', { a: 420, b: -15, c: 31, d: 3, e: '0o9' }],
    ['a: 0o1_0\nb: !!int 0o17', { a: 8, b: 15 }],
    ['a: !mine x\nb: !mine 5\nc: !!str 5', { a: 'x', b: '5', c: '5' }],
    ['when: 2026-01-01\nat: 12:30:45\nport: 1:30', { when: '2026-01-01', at: '12:30:45', port: '1:30' }],
    ['a: &x {k: v}\nb:\n  <<: *x\n  l: w', { a: { k: 'v' }, b: { k: 'v', l: 'w' } }],
    ['{"a":\t[1, "\\u00e9\\/"]}', { a: [1, 'é/'] }],
    ['__proto__: {admin: true}', JSON.parse('{"__proto__": {"admin": true}}')],
    ['a: ~\nb:', { a: null, b: null }],
    ['a: 1234e567\nb: -1e999\nc: 1.5e3', { a: '1234e567', b: '-1e999', c: 1500 }],
    ['{"a":1e999}', { a: '1e999' }],
    [`a: ${'9'.repeat(400)}`, { a: '9'.repeat(400) }],
    ['a: &x {k: v}\nb: &y {l: w}\nc:\n  <<: *x\n  <<: *y', { a: { k: 'v' }, b: { l: 'w' }, c: { k: 'v', l: 'w' } }],
    ['1: a\n"1": b', { 1: 'b' }],
    ['a: &x k\nb: &y l\n*x : v\n*y : w', { a: 'k', b: 'l', k: 'v', l: 'w' }],
    ['a: [ls, ., -., ._]\nb: e2\nc: -E10\nd: .e5', { a: ['ls', '.', '-.', '._'], b: 'e2', c: '-E10', d: '.e5' }],
    ['e2: a\ne3: b\n1e998: c\n1e999: d', { e2: 'a', e3: 'b', '1e998': 'c', '1e999': 'd' }],
    ['%YAML 1.1\n---\nmode: 0644', { mode: 420 }],
    ['a: 0x_\nb: 0b_\nc: 0_', { a: '0x_', b: '0b_', c: 0 }],
  ])('reads the YAML or JSON text %j with the same values as Kubernetes', (text, value) => {
    expect(problemsOf(text)).toEqual([]);
    expect(valuesOf(text)).toEqual([value]);
  });

  it('reads several YAML documents and omits empty ones', () => {
    expect(valuesOf('---\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n')).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it.each([
    ['? [a]\n: 1\n', '1:1 a key must be a scalar'],
    ['? &x [a]\n: 1\n*x : 2\n', '1:1 a key must be a scalar'],
    ['a:\n- &x [*x]\n', '2:7 refers to a value that encloses it'],
    ['a: *nowhere\n', '1:1 Unresolved alias (the anchor must be set before the alias): nowhere'],
    ['a:\n  - .inf\n', '2:5 Infinity is not a number that JSON can hold'],
    ['a: !!set {x}\n', '1:4 Unresolved tag: tag:yaml.org,2002:set'],
    ['a: !!binary aGk=\n', '1:4 Unresolved tag: tag:yaml.org,2002:binary'],
    ['%YAML 1.2\n---\nmode: 0644\n', '2:1 YAML 1.2 is not supported, only YAML 1.1'],
    ['%YAML 1.3\n---\na: b\n', '1:7 Unsupported YAML version 1.3'],
    ['a: "open\n', '2:1 Missing closing "quote'],
    ['a: 1\n b: 2\n', '1:4 Nested mappings are not allowed in compact mappings'],
  ])('refuses the YAML text %j with the position of the problem', (text, problem) => {
    expect(problemsOf(text)[0]).toContain(problem);
    // Returns the first line of the error message, without the excerpt of the document.
    expect(problemsOf(text)[0]).not.toContain('\n');
    expect(valuesOf(text)).toEqual([]);
  });

  it.each([
    ['a: 1\nb:\n  c: 1\n  c: 2\n', { a: 1, b: { c: 2 } }, '4:3 duplicate key "c": the last value is used'],
    ['{"a": 1, "a": 2}', { a: 2 }, '1:10 duplicate key "a": the last value is used'],
    ['{"a":1,"b":{"c":1,"c":2}}', { a: 1, b: { c: 2 } }, '1:19 duplicate key "c": the last value is used'],
    ['"<<": 1\n"<<": 2', { '<<': 2 }, '2:1 duplicate key "<<": the last value is used'],
    ['a: &x {b: 1, b: 2}\nc: *x', { a: { b: 2 }, c: { b: 2 } }, '1:14 duplicate key "b": the last value is used'],
  ])('uses the last value of a duplicate key in %j, with one warning', (text, value, warning) => {
    const { documents, problems, warnings } = readYaml(text);
    expect(documents.map((document) => document.value)).toEqual([value]);
    expect(problems).toEqual([]);
    expect(warnings.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([warning]);
  });

  it('finds the position of the value that is used for a duplicate key', () => {
    const [document] = readYaml('a: {b: 1}\na: {b: 2}').documents;
    expect(document?.locate(['a', 'b'])).toEqual({ line: 2, column: 5 });
  });

  it('reads the YAML documents before and after an invalid one', () => {
    const { documents, problems } = readYaml('a: 1\n---\nb: [\n---\nc: 3\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { c: 3 }]);
    expect(problems).toHaveLength(1);
  });

  it('W6: the time to find duplicate keys grows linearly with the number of keys', () => {
    const keys = Array.from({ length: 2000 }, (_, index) => `k${index}`);
    let compared = 0;
    const { has } = Set.prototype;
    const { some } = Array.prototype;
    Set.prototype.has = function (...args) {
      compared++;
      return has.apply(this, args);
    };
    Array.prototype.some = function (isWanted, ...args) {
      const counted: typeof isWanted = (...item) => {
        compared++;
        return isWanted(...item);
      };
      return some.call(this, counted, ...args);
    };
    try {
      const { warnings } = readYaml(`${keys.map((key) => `${key}: v`).join('\n')}\nk7: w`);
      expect(warnings).toEqual([expect.objectContaining({ line: 2001, column: 1 })]);
    } finally {
      Set.prototype.has = has;
      Array.prototype.some = some;
    }
    expect(compared).toBeLessThan(10 * keys.length);
  });

  // The expanded aliases would exceed the memory, and the expansion would exceed the test's timeout.
  it('refuses YAML aliases that expand exponentially (billion laughs)', () => {
    const lines = ['a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]'];
    for (let i = 1; i < 9; i++)
      lines.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(', ')}]`,
      );
    expect(problemsOf(lines.join('\n'))[0]).toContain('expands to more than 200000 values');
  });

  it('W6: refuses YAML merge keys that expand to too many values, even if each anchor is used only once', () => {
    const base = `a0: &a0 {${Array.from({ length: 3000 }, (_, index) => `k${index}: v`).join(', ')}}`;
    const lines = Array.from({ length: 90 }, (_, index) => `a${index + 1}: &a${index + 1} {<<: *a${index}}`);
    expect(problemsOf([base, ...lines].join('\n'))[0]).toContain('expands to more than 200000 values');
  });

  it('W6: reads each YAML anchor a bounded number of times, even if each is used only once', () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `a${index}: &a${index} v\nb${index}: *a${index}`);
    let looks = 0;
    Object.defineProperty(Scalar.prototype, 'anchor', {
      configurable: true,
      set(value: string) {
        const get = (): string => {
          looks++;
          return value;
        };
        Object.defineProperty(this, 'anchor', { configurable: true, get });
      },
    });
    try {
      expect(Object.keys(valuesOf(lines.join('\n'))[0] as object)).toHaveLength(2 * lines.length);
    } finally {
      Reflect.deleteProperty(Scalar.prototype, 'anchor');
    }
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThan(10 * lines.length);
  });

  it('refuses YAML that expands to too many values, even if no alias is used often', () => {
    const big = `a: &a [${Array(30_000).fill('1').join(',')}]\n`;
    expect(problemsOf(`${big}b: [${Array(9).fill('*a').join(',')}]`)[0]).toContain(
      'expands to more than 200000 values',
    );
  });

  it('refuses YAML that is nested too deep', () => {
    expect(problemsOf(`${'['.repeat(200)}${']'.repeat(200)}`)[0]).toContain('nested deeper than 100 levels');
  });

  it('W3: refuses YAML whose nesting would overflow the stack', () => {
    expect(problemsOf('['.repeat(60_000)).length).toBe(1);
    expect(problemsOf(`${'- '.repeat(60_000)}a`).length).toBe(1);
  });

  it('refuses a YAML merge key whose value is no map', () => {
    expect(problemsOf('a:\n  <<: 1\n')).toEqual(['1:1 Merge sources must be maps or map aliases']);
  });

  it('finds the position of a value, or of its nearest parent that exists', () => {
    const [document] = readYaml(
      'kind: List\nitems:\n- spec:\n    containers:\n    - name: a\n      image: b\n',
    ).documents;
    expect(document?.locate(['items', 0, 'spec', 'containers', 0, 'image'])).toEqual({ line: 6, column: 7 });
    expect(document?.locate(['items', 0, 'spec', 'containers', 0, 'ports', 3])).toEqual({ line: 5, column: 7 });
    expect(document?.locate(['items', 5, 'spec'])).toEqual({ line: 2, column: 1 });
    expect(document?.locate([])).toEqual({ line: 1, column: 1 });
    const [commented] = readYaml('---\n# one\na: &x\n  b: 1\nc: *x\n').documents;
    expect(commented?.locate([])).toEqual({ line: 3, column: 1 });
    expect(commented?.locate(['c', 'b'])).toEqual({ line: 4, column: 3 });
  });

  it('W3: reads any JSON text with unchanged values', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value, undefined, 1);
        expect(problemsOf(text)).toEqual([]);
        expect(valuesOf(text)).toEqual(value === null ? [] : [JSON.parse(text)]);
      }),
    );
  });

  it('W3: reads JSON with the same result as the same document in YAML', () => {
    const text = fc.string({ unit: 'binary' });
    const key = fc.oneof(text, fc.constantFrom('__proto__', '<<', '1', '01', 'a', '&a', '!!set', '...'));
    const value = fc.oneof(
      fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
      fc.double(),
      fc.constantFrom('\ud800', '\ufeff', '\u2028', '\u0085', '\x7f', 1e21, 2 ** 53, -1e-7),
    );
    fc.assert(
      fc.property(fc.dictionary(key, fc.dictionary(key, value)), fc.constantFrom('', '\n'), (object, end) => {
        const compact = `${JSON.stringify(object)}${end}`;
        expect(problemsOf(compact)).toEqual(problemsOf(` ${compact}`));
        expect(valuesOf(compact)).toEqual(valuesOf(` ${compact}`));
      }),
    );
  });

  it.each([
    [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, 'nested deeper than 100 levels'],
    ['{"a":1}x', '1:8 '],
  ])('refuses the text %j, which is almost JSON, with the position of the problem', (text, problem) => {
    expect(problemsOf(text)[0]).toContain(problem);
    expect(valuesOf(text)).toEqual([]);
  });

  it('finds positions in JSON without line breaks', () => {
    const [document] = readYaml('{"kind":"List","items":[{"spec":{}}]}').documents;
    expect(document?.locate(['items', 0, 'spec', 'containers'])).toEqual({ line: 1, column: 26 });
    expect(document?.locate([])).toEqual({ line: 1, column: 1 });
  });

  it('W3: returns documents and problems for any text, and never throws', () => {
    const yamlish = fc.array(
      fc.constantFrom(
        'a',
        ': ',
        '- ',
        '\n',
        '  ',
        '[',
        ']',
        '{',
        '}',
        '&x ',
        '*x',
        '!!',
        '"',
        '|',
        '%',
        '---\n',
        '<<: ',
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          yamlish.map((parts) => parts.join('')),
        ),
        (text) => {
          for (const { line, column, message } of readYaml(text).problems) {
            expect(line).toBeGreaterThan(0);
            expect(column).toBeGreaterThan(0);
            expect(message).not.toBe('');
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
