import { type FieldError, invalid, required, unsupported } from '../field-error.ts';

/** What is wrong, one by one: rules are put together with `yield*`. */
export type Problems = Generator<FieldError, void, undefined>;

export const NOT_NEGATIVE = 'must be greater than or equal to 0';

/** One error for each thing that a rule of names has against the value. */
export function* named(path: string, value: string, rule: (value: string) => readonly string[]): Problems {
  for (const problem of rule(value)) yield invalid(path, value, problem);
}

/** A name that must be there and keep a rule. */
export function* requiredName(
  path: string,
  value: string | undefined,
  rule: (value: string) => readonly string[],
): Problems {
  if (!value) yield required(path);
  else yield* named(path, value, rule);
}

/** A value of a closed list; an absent one is fine. */
export function* oneOf(path: string, value: string | undefined, allowed: readonly string[]): Problems {
  if (value !== undefined && !allowed.includes(value)) yield unsupported(path, value, allowed);
}

/** A value of a closed list that must be there. */
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

/** Permission bits of a file in a volume. */
export function* fileMode(path: string, mode: number | undefined): Problems {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  yield invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

/** A path with no step up in it (W3). */
export function* noStepUp(path: string, value: string): Problems {
  if (value.split('/').includes('..')) yield invalid(path, value, "must not contain '..'");
}

/** A path that leads from a directory to something below it (W3). */
export function* descending(path: string, value: string): Problems {
  if (value.startsWith('/')) yield invalid(path, value, 'must be a relative path');
  yield* noStepUp(path, value);
}

/** As {@link descending}, and not one of the names that atomic volumes keep for themselves. */
export function* descendingUnreserved(path: string, value: string): Problems {
  yield* descending(path, value);
  if (value.startsWith('..') && !value.startsWith('../')) yield invalid(path, value, "must not start with '..'");
}
