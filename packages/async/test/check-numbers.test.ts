import { describe, expect, it } from 'vitest';
import { checkNumbers, type NumberRule, numberProblem } from '../src/check-numbers.ts';

const words: Record<NumberRule, string> = {
  positive: 'above 0',
  notNegative: 'at least 0',
  whole: 'a whole number',
  count: 'a whole number of at least 0',
  limit: 'a whole number of at least 1',
  port: 'a whole number from 0 to 65535',
};
const fitting: Record<NumberRule, readonly number[]> = {
  positive: [0.1, 1, Infinity],
  notNegative: [0, 0.1, Infinity],
  whole: [-1, 0, 1, Number.MIN_SAFE_INTEGER],
  count: [0, 1, Number.MAX_SAFE_INTEGER],
  limit: [1, 2, Number.MAX_SAFE_INTEGER, Infinity],
  port: [0, 1, 65_535],
};
const nonsense: Record<NumberRule, readonly unknown[]> = {
  positive: [0, -0.1, -Infinity],
  notNegative: [-0.1, -Infinity],
  whole: [0.5, Infinity, -(2 ** 53)],
  count: [-1, 0.5, Infinity, 2 ** 53],
  limit: [0, -1, 1.5, 2 ** 53, -Infinity],
  port: [-1, 0.5, 65_536, Infinity],
};

describe.each(Object.keys(words) as NumberRule[])('numberProblem with the rule %s', (rule) => {
  it.each(fitting[rule])('numberProblem accepts %s', (n) => {
    expect(numberProblem({ n }, { n: rule })).toBeUndefined();
  });

  it.each([...nonsense[rule], Number.NaN, undefined, null, '1'])(
    'numberProblem rejects the value %s with a message that names the option',
    (n) => {
      expect(numberProblem({ n }, { n: rule })).toBe(`n must be ${words[rule]}, not ${String(n)}`);
    },
  );
});

it('numberProblem reports the first invalid number in the order of the rules', () => {
  const problem = numberProblem({ a: -1, b: -1, c: 1 }, { c: 'count', b: 'count', a: 'count' });
  expect(problem).toBe('b must be a whole number of at least 0, not -1');
});

it('numberProblem does not check a value without a rule', () => {
  expect(numberProblem({ a: -1, b: 'x' }, {})).toBeUndefined();
});

it('checkNumbers throws if a number is invalid and otherwise returns', () => {
  expect(() => checkNumbers({ a: 1 }, { a: 'positive' })).not.toThrow();
  expect(() => checkNumbers({ a: 0 }, { a: 'positive' })).toThrow('a must be above 0, not 0');
});
