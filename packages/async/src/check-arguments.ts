import { type NumberRule, numberProblem } from './check-numbers.ts';
import { OptionsError } from './options-error.ts';

export type TypeRule = 'number' | 'bigint' | 'boolean' | 'string' | 'function' | 'list' | 'object' | 'any';

/**
 * Kind of value that an option takes. A trailing `?` marks an option that may be absent. A list names the allowed
 * strings.
 */
export type OptionRule = NumberRule | TypeRule;

/** Rules for the options of `O`, one rule per option. The compiler reports an option without a rule. */
export type OptionRules<O> = {
  readonly [K in keyof O]-?: object extends Pick<O, K>
    ? `${OptionRule}?` | readonly [undefined, ...string[]]
    : OptionRule | readonly string[];
};

/** Names of the methods that a required component must have, or the kind of value that the component must be. */
export type ComponentRule = OptionRule | readonly string[];

/**
 * Rules for the required components of `C`. Optional components need no rule. The type does not depend on the types of
 * the components, so that functions of two versions of this package stay assignable to each other.
 */
export type ComponentRules<C> = { readonly [K in keyof C]?: ComponentRule };

const TYPES: Readonly<Record<TypeRule, readonly [words: string, holds: (value: unknown) => boolean]>> = {
  number: ['a number', (value) => typeof value === 'number'],
  bigint: ['a bigint', (value) => typeof value === 'bigint'],
  boolean: ['true or false', (value) => typeof value === 'boolean'],
  string: ['a string', (value) => typeof value === 'string'],
  function: ['a function', (value) => typeof value === 'function'],
  list: ['a list', (value) => Array.isArray(value)],
  object: ['an object', isObject],
  any: ['anything', () => true],
};

/** Components that most classes take and that have defaults. If passed, they must be objects. */
const COMMON_COMPONENTS = ['clock', 'random', 'logger', 'metrics', 'recorder'];

/**
 * Rejects options that are unknown, missing or of the wrong kind. Used by constructors and entry functions, because
 * programs in plain JavaScript have no compiler that finds a misspelt option.
 * @param component class or function that takes the options, for the message
 * @param options as the caller passed them; an option that is `undefined` counts as absent
 * @returns the options without those that are `undefined`, for spreading over defaults
 * @throws OptionsError that names the option
 */
export function checkOptions<O extends object>(component: string, options: O, rules: OptionRules<O>): O {
  if (!isObject(options)) {
    throw new OptionsError(component, 'options', `options must be an object, not ${shown(options)}`);
  }
  const known = rules as Readonly<Record<string, string | readonly (string | undefined)[]>>;
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known).join(', ');
    throw new OptionsError(component, name, `unknown option ${name}; the options are ${names}`);
  }
  for (const [name, rule] of Object.entries(known)) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    const problem = typeof rule === 'string' ? ruleProblem(name, value, rule) : wordProblem(name, value, rule);
    if (problem !== undefined) throw new OptionsError(component, name, problem);
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}

/**
 * Rejects components if a required component is missing or lacks a method. Names without a rule are allowed, because
 * callers may pass one object to several classes.
 * @param component class or function that takes the components, for the message
 * @throws OptionsError that names the missing component, or the method that a component lacks
 */
export function checkComponents<C extends object>(component: string, components: C, rules: ComponentRules<C>): void {
  if (!isObject(components)) {
    throw new OptionsError(component, 'components', `components must be an object, not ${shown(components)}`);
  }
  const given = components as Readonly<Record<string, unknown>>;
  for (const [name, rule] of Object.entries(rules as Readonly<Record<string, ComponentRule>>)) {
    const problem = componentProblem(name, given[name], rule);
    if (problem !== undefined) throw new OptionsError(component, name, problem);
  }
  for (const name of COMMON_COMPONENTS) {
    const value = given[name];
    if (value === undefined || isObject(value)) continue;
    throw new OptionsError(component, name, `component ${name} must be an object, not ${shown(value)}`);
  }
}

function componentProblem(name: string, value: unknown, rule: ComponentRule): string | undefined {
  if (value === undefined || value === null) return `component ${name} is missing`;
  if (typeof rule === 'string') return ruleProblem(`component ${name}`, value, rule);
  if (!isObject(value)) return `component ${name} must be an object, not ${shown(value)}`;
  const missing = rule.find((method) => typeof (value as Readonly<Record<string, unknown>>)[method] !== 'function');
  return missing === undefined ? undefined : `component ${name} has no method ${missing}`;
}

function ruleProblem(name: string, value: unknown, rule: string): string | undefined {
  const isOptional = rule.endsWith('?');
  if (isOptional && value === undefined) return undefined;
  // The rule `any` allows every value, even `undefined`.
  if (rule === 'any') return undefined;
  if (!isOptional && value === undefined) return `${name} is missing`;
  const kind = isOptional ? rule.slice(0, -1) : rule;
  if (!Object.hasOwn(TYPES, kind)) {
    const number = typeof value === 'number' ? value : undefined;
    const problem = numberProblem({ [name]: number }, { [name]: kind as NumberRule });
    return problem?.replace(/undefined$/, shown(value));
  }
  const [words, holds] = TYPES[kind as TypeRule];
  return holds(value) ? undefined : `${name} must be ${words}, not ${shown(value)}`;
}

function wordProblem(name: string, value: unknown, words: readonly (string | undefined)[]): string | undefined {
  if (words.includes(value as string | undefined)) return undefined;
  const allowed = words.filter((word) => word !== undefined).join(' or ');
  return value === undefined ? `${name} is missing` : `${name} must be ${allowed}, not ${shown(value)}`;
}

/**
 * Reports whether a value can have methods. Functions are included, because a class with static methods may be passed
 * as a component.
 */
function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * Returns a value as text for an error message. Objects are not printed, because they may be large, and some cannot be
 * converted to text.
 */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return isObject(value) ? 'an object' : String(value);
}
