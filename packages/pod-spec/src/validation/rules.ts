import { type FieldError, invalid, required, unsupported } from '../field-error.ts';

/** Errors yielded one by one, so that rules can be combined with `yield*`. */
export type Problems = Generator<FieldError, void, undefined>;

export const NOT_NEGATIVE = 'must be greater than or equal to 0';

/** Yields one error per problem that a name rule finds. */
export function* named(path: string, value: string, rule: (value: string) => readonly string[]): Problems {
  for (const problem of rule(value)) yield invalid(path, value, problem);
}

/** Validates a required name. */
export function* requiredName(
  path: string,
  value: string | undefined,
  rule: (value: string) => readonly string[],
): Problems {
  if (!value) yield required(path);
  else yield* named(path, value, rule);
}

/** Validates a value against a list of allowed values. An absent value is valid. */
export function* oneOf(path: string, value: string | undefined, allowed: readonly string[]): Problems {
  if (value !== undefined && !allowed.includes(value)) yield unsupported(path, value, allowed);
}

/** Validates a required value against a list of allowed values. */
export function* requiredOneOf(path: string, value: string | undefined, allowed: readonly string[]): Problems {
  if (!value) yield required(path);
  else yield* oneOf(path, value, allowed);
}

export function* inRange(path: string, value: number | undefined, low: number, high: number): Problems {
  if (value === undefined || (value >= low && value <= high)) return;
  yield invalid(path, value, `must be between ${low} and ${high}, inclusive`);
}

export function* notNegative(path: string, value: number | undefined): Problems {
  if (value !== undefined && value < 0) yield invalid(path, value, NOT_NEGATIVE);
}

/** Validates the permission bits of a file in a volume. */
export function* fileMode(path: string, mode: number | undefined): Problems {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  yield invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

/** Validates that a path contains no `..` (W3). */
export function* noStepUp(path: string, value: string): Problems {
  if (value.split('/').includes('..')) yield invalid(path, value, "must not contain '..'");
}

/** Validates a relative path that stays below its directory (W3). */
export function* descending(path: string, value: string): Problems {
  if (value.startsWith('/')) yield invalid(path, value, 'must be a relative path');
  yield* noStepUp(path, value);
}

/** Does the same as {@link descending}, and also rejects names starting with `..`, which atomic volumes reserve. */
export function* descendingUnreserved(path: string, value: string): Problems {
  yield* descending(path, value);
  if (value.startsWith('..') && !value.startsWith('../')) yield invalid(path, value, "must not start with '..'");
}
