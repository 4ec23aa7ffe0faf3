import { Scalar, stringify } from '@node-agent/yaml';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfigNode } from '../src/document/node.ts';
import { parseDocument } from '../src/document/parse-document.ts';

const parse = (text: string): ReturnType<typeof parseDocument> => parseDocument(new TextEncoder().encode(text));

/** Returns the plain value of a tree, without source positions. */
function plain(node: ConfigNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
}

function read(text: string): unknown {
  const { root, problems } = parse(text);
  if (root === undefined) throw new Error(JSON.stringify(problems));
  return plain(root);
}

/** Returns the value with integers beyond 2^53 rounded, as by JSON.parse. */
function numbers(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)));
}

describe('parseDocument', () => {
  it.each<[string, unknown]>([
    ['a: yes', { a: true }],
    ['a: on\nb: Off', { a: true, b: false }],
    ['a: 0777\nb: 0x1F\nc: 0b11\nd: 1_000', { a: 511, b: 31, c: 3, d: 1000 }],
    ['a: 0o17\nb: 0O17\nc: 0X1F\nd: -0B11\ne: 0o9\nf: 0o', { a: 15, b: 15, c: 31, d: -3, e: '0o9', f: '0o' }],
    ['a: 1:30\nb: 2001-01-01\nc: 190:20:30.15', { a: '1:30', b: '2001-01-01', c: '190:20:30.15' }],
    ['a: ~\nb: null\nc:', { a: null, b: null, c: null }],
    ['a: "yes"\nb: \'1\'', { a: 'yes', b: '1' }],
    ['a: 1e3\nb: 1.5\nc: .5', { a: 1000, b: 1.5, c: 0.5 }],
    ['a: .\nb: e2\nc: 1234e567\nd: [-.]', { a: '.', b: 'e2', c: '1234e567', d: ['-.'] }],
    ['a: {e2: u, 1e999: v, ~: w}', { a: { e2: 'u', '1e999': 'v', null: 'w' } }],
    ['1: a\nyes: b', { '1': 'a', true: 'b' }],
    ['a: &x {b: 1}\nc: *x', { a: { b: 1 }, c: { b: 1 } }],
    ['a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}', { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } }],
    ['---\na: 1\n...\n', { a: 1 }],
    ['# only\na: 1\n---\n# nothing\n', { a: 1 }],
    ['# not JSON\n{a: 1, b: [x]}', { a: 1, b: ['x'] }],
    ['{\n\t"a": [1, true, null, "y"],\n\t"b": "yes"\n}', { a: [1, true, null, 'y'], b: 'yes' }],
    ['\uFEFFa: 1', { a: 1 }],
    ['a: 123456789012345678901234567890', { a: 123456789012345678901234567890n }],
    ['__proto__: {a: 1}', JSON.parse('{"__proto__": {"a": 1}}')],
  ])('reads the document %j with the same values as Kubernetes', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it.each([
    '{"a": hunter2}',
    '{"a": "x" hunter2',
    'a: 1\n@hunter2',
    'a: "hunter2\\q"',
    'token: |hunter2',
    'a: }hunter2',
    '{"token": "hunter2",\n x',
  ])('W4: reports the problem of %j without quoting its content', (text) => {
    const { problems } = parse(text);
    expect(problems?.length).toBeGreaterThan(0);
    expect(JSON.stringify(problems)).not.toContain('unter2');
  });

  it('returns the position of every value of a document', () => {
    const { root } = parse('a: 1\nb:\n  - x\n  - {c: 2}\n');
    if (root?.kind !== 'map') throw new Error('no mapping');
    const [, b] = root.entries;
    expect(b?.keyAt).toEqual({ line: 2, column: 1 });
    expect(b?.value).toMatchObject({ items: [{ at: { line: 3, column: 5 } }, { at: { line: 4, column: 5 } }] });
  });

  it.each([
    ['', 'is empty', 1, 1],
    ['  \n# nothing\n', 'is empty', 1, 1],
    ['---\n---\n', 'is empty', 1, 1],
    ['a: [1\n---\nb: 2\n', 'sequence', 2, 1],
    ['a: b: c', 'Nested mappings', 1, 4],
    ['a: [1', 'sequence', 1, 6],
    ['a:\n\t- b', 'Tabs', 2, 1],
    ['{"a": ', 'is not valid JSON', 1, 6],
    ['{a: 1, b: [x]}', 'is not valid JSON', 1, 2],
    ['{\n  "a": 1,\n}', 'is not valid JSON', 3, 1],
    ['{"a": 1} # nothing', 'is not valid JSON', 1, 10],
    ['a: *x', 'the alias *x has no anchor', 1, 4],
    ['a: &a [*a]', 'too large or too deep', 1, 7],
    ['? [x]\n: 1', 'a key must be plain text', 1, 3],
    ['a: {<<: 1}', '<< merges mappings only', 1, 9],
  ])('refuses the document %j with the position of the problem', (text, message, line, column) => {
    const problem = parse(text).problems?.[0];
    expect(problem?.message).toContain(message);
    expect(problem?.at).toEqual({ line, column });
  });

  it.each([
    ['a: 1\na: 2\n', { a: 2 }, 'duplicate key "a"', 2, 1],
    ['a: 1\nb: 3\na: 2\n', { a: 2, b: 3 }, 'duplicate key "a"', 3, 1],
    ['{"a": 1, "a": 2}', { a: 2 }, 'duplicate key "a"', 1, 10],
    ['a: {b: 1, b: 2}', { a: { b: 2 } }, 'duplicate key "b"', 1, 11],
    ['a: &x {b: 1, b: 2}\nc: *x', { a: { b: 2 }, c: { b: 2 } }, 'duplicate key "b"', 1, 14],
    ['a: 1\n---\nb: 2\n', { a: 1 }, 'holds more than one document', 2, 1],
    ['a: 1\n---\nb: [\n', { a: 1 }, 'holds more than one document', 2, 1],
    ['---\n---\na: 1\n---\nb: 2', { a: 1 }, 'holds more than one document', 4, 1],
  ])('reads the document %j as %j, and reports the ignored part once', (text, value, message, line, column) => {
    expect(read(text)).toEqual(value);
    expect(parse(text)).toMatchObject({ leniencies: [{ message, at: { line, column } }] });
  });

  it('resolves a YAML alias to the last anchor of its name before it, even inside another alias', () => {
    expect(read('a: &x 1\nb: &y [*x]\nc: &x 2\nd: *y\ne: *x')).toEqual({ a: 1, b: [1], c: 2, d: [1], e: 2 });
  });

  it('W6: visits each YAML anchor and alias a bounded number of times', () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `a${index}: &a${index} v\nb${index}: *a${index}`);
    let anchors = 0;
    const { anchor } = Object.getOwnPropertyDescriptors(Scalar.prototype);
    Object.defineProperty(Scalar.prototype, 'anchor', {
      configurable: true,
      set(value: string) {
        Object.defineProperty(this, 'anchor', {
          configurable: true,
          get: () => {
            anchors++;
            return value;
          },
        });
      },
    });
    try {
      expect(Object.keys(read(lines.join('\n')) as object)).toHaveLength(6000);
    } finally {
      if (anchor === undefined) Reflect.deleteProperty(Scalar.prototype, 'anchor');
      else Object.defineProperty(Scalar.prototype, 'anchor', anchor);
    }
    expect(anchors).toBeGreaterThan(0);
    expect(anchors).toBeLessThan(10 * lines.length);
  });

  it('refuses a document that is not UTF-8', () => {
    expect(parseDocument(Uint8Array.of(0x61, 0x3a, 0x20, 0xff)).problems?.[0]?.message).toBe('is not UTF-8 text');
  });

  it('refuses a document that expands too far through YAML aliases', () => {
    const levels = Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(',')}]`);
    expect(parse(`a0: &a0 [x]\n${levels.join('\n')}`).problems?.[0]?.message).toContain('too large or too deep');
  });

  it('reads a value written as JSON or YAML as the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
        const normal = JSON.parse(JSON.stringify(value)) as unknown;
        if (Object.keys(value).some((key) => key === '<<' || key === '__proto__')) return;
        expect(numbers(read(JSON.stringify(value, null, 2)))).toEqual(normal);
        expect(numbers(read(stringify(value, { version: '1.1' })))).toEqual(normal);
      }),
    );
  });

  it('parseDocument reads or refuses any text without an exception', () => {
    const piece = fc.constantFrom(
      'a: ',
      '- ',
      '{',
      '}',
      '[',
      ']',
      '\n',
      '  ',
      '&x ',
      '*x',
      '<<: ',
      '"',
      '? ',
      ': ',
      '---\n',
      '!!',
      '#',
      '|',
      'y',
      '1',
      '\t',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((parts) => parts.join('')),
        ),
        (text) => {
          const { root, problems } = parse(text);
          expect(root !== undefined || (problems?.length ?? 0) > 0).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});
