import { describe, expect, test } from 'vitest';
import { instrument } from '../src/instrument.ts';
import { isPure } from '../src/pure-files.ts';

const changes = (code: string): string[] =>
  instrument('rule.ts', code, 1).mutants.map(
    ({ line, original, replacement }) => `${line}: ${original} -> ${replacement}`,
  );

/** Calls the module's function `rule` with one active mutant. */
function withMutant(code: string, alive: number, ...args: readonly unknown[]): unknown {
  const body = `${instrument('rule.js', code, 1).code}\nreturn rule(...args);`;
  return new Function('__mutants', 'args', body)({ is: (id: number) => id === alive }, args);
}

describe('instrument', () => {
  test.each<[string, string, string[]]>([
    [
      'a comparison',
      'const f = (a: number) => a < 5;',
      ['1: 5 -> 6', '1: a < 5 -> ((a) <= (5))', '1: a < 5 -> ((a) >= (5))'],
    ],
    ['a condition', 'if (a) b();', ['1: a -> true', '1: a -> false', '1: b() -> nothing']],
    ['a default', 'const c = a ?? b;', ['1: a ?? b -> (a)', '1: a ?? b -> (b)']],
    ['a call with an opposite', 'const c = list.some(f);', ['1: list.some(f) -> list.every(f)']],
    ['a call that may be omitted', 'const c = list.filter(f);', ['1: list.filter(f) -> (list)']],
    ['no call of an inherited method', 'const c = a.toString();', []],
    ['nothing inside an optional chain', 'const c = list?.filter(f).map(g);', []],
    ['no concatenation of texts', "const c = 'a' + b;", ["1: 'a' -> ''"]],
    [
      'no types, keys, imports and error messages',
      "import a from 'b';\ntype T = 'x' | 5;\nthrow new RuleError('words', { a: 1 });",
      ['3: 1 -> 2'],
    ],
    ['no assignment target', 'a[0] = 1;', ['1: 1 -> 2', '1: a[0] = 1 -> nothing']],
  ])('instrument mutates %s', (_name, code, expected) => {
    expect(changes(code)).toEqual(expected);
  });

  test('reports the line in which each mutant starts', () => {
    const { mutants } = instrument('rule.ts', 'const c = 1;\n\n  if (\n    a &&\n    b\n  )\n    c();', 1);
    expect(mutants.map(({ line, lineText }) => [line, lineText])).toEqual([
      [1, 'const c = 1;'],
      [4, 'a &&'],
      [4, 'a &&'],
      [4, 'a &&'],
      [7, 'c();'],
    ]);
  });

  test('activates one mutant at a time and keeps the original behaviour without one', () => {
    const rule = 'function rule(a, b) { return a > 0 && !b ? "yes" : "no"; }';
    const { mutants } = instrument('rule.js', rule, 1);
    expect(withMutant(rule, 0, 1, false)).toBe('yes');
    expect(withMutant(rule, 0, 1, true)).toBe('no');
    for (const { id, original, replacement } of mutants) {
      const cases = [0, 1, 2].flatMap((a) => [true, false].map((b) => [a, b] as const));
      const differs = cases.some(([a, b]) => withMutant(rule, id, a, b) !== withMutant(rule, 0, a, b));
      expect([original, replacement, differs]).toEqual([original, replacement, true]);
    }
  });
});

test.each([
  ['accepts synchronous functions', 'export function f(a: number) { return a; }', true],
  ['rejects a class', 'export class A {}\nfunction f() {}', false],
  ['rejects an asynchronous function', 'export async function f() {}', false],
  ['rejects a file with types only', 'export interface A { a: number }', false],
  ['ignores module names', "import { a } from './async.ts';\nexport function f() {}", true],
  ['ignores words in a text', "export const f = () => 'it\\'s a class';", true],
  ['ignores words in a comment', '/** This class waits. */\nexport function f() {}', true],
])('isPure %s', (_name, code, expected) => {
  expect(isPure(code)).toBe(expected);
});
