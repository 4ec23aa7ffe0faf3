import { OptionsError } from './options-error.ts';

/**
 * Rule for a number among a component's options. `limit`: a maximum count, with `Infinity` for no limit. `port`: a port
 * number, with 0 for any free port.
 */
export type NumberRule = 'positive' | 'notNegative' | 'whole' | 'count' | 'limit' | 'port';

const RULES: Readonly<Record<NumberRule, readonly [words: string, holds: (value: number) => boolean]>> = {
  positive: ['above 0', (value) => value > 0],
  notNegative: ['at least 0', (value) => value >= 0],
  whole: ['a whole number', (value) => Number.isSafeInteger(value)],
  count: ['a whole number of at least 0', (value) => Number.isSafeInteger(value) && value >= 0],
  limit: ['a whole number of at least 1', (value) => value >= 1 && (Number.isSafeInteger(value) || value === Infinity)],
  port: ['a whole number from 0 to 65535', (value) => Number.isInteger(value) && value >= 0 && value <= 65_535],
};

/**
 * Returns the problem of the first invalid number, such as
 * `historyLength must be a whole number of at least 0, not -1`. Returns `undefined` if all numbers are valid. NaN,
 * `undefined` and values of other types break every rule, so defaults must be filled in first.
 */
export function numberProblem<T extends object>(
  options: T,
  rules: { readonly [K in keyof T]?: NumberRule },
): string | undefined {
  for (const [name, rule] of Object.entries(rules) as [keyof T & string, NumberRule][]) {
    const value: unknown = options[name];
    const [words, holds] = RULES[rule];
    if (typeof value !== 'number' || !holds(value)) return `${name} must be ${words}, not ${String(value)}`;
  }
  return undefined;
}

/**
 * Rejects options if a number breaks its rule, so that the caller gets the error immediately.
 * @param component class or function that takes the options, for the message
 * @throws OptionsError that names the option
 */
export function checkNumbers<T extends object>(
  options: T,
  rules: { readonly [K in keyof T]?: NumberRule },
  component = '',
): void {
  const problem = numberProblem(options, rules);
  if (problem !== undefined) throw new OptionsError(component, problem.slice(0, problem.indexOf(' ')), problem);
}
