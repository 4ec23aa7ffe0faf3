/** The type of a column of a profile. */
export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

/** A function on a stack. */
export interface Frame {
  readonly name: string;
  /** '' if the function has no file. */
  readonly file: string;
  /** The line on which the function starts, from 1. 0 if unknown. */
  readonly line: number;
}

/** A stack and its counts. */
export interface Sample {
  /** The innermost frame first. */
  readonly stack: readonly Frame[];
  /** One value per sample type of the profile. */
  readonly values: readonly number[];
}

/** A profile in pprof's model (`profile.proto` of github.com/google/pprof), before encoding. */
export interface Profile {
  readonly sampleTypes: readonly ValueType[];
  /** The type that is displayed by default. */
  readonly defaultType: string;
  /** The amount between two samples, and its type. */
  readonly period?: ValueType & { readonly value: number };
  /** When the profile was taken, in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly durationMs?: number;
  readonly samples: readonly Sample[];
  /** Notes for readers. */
  readonly comments?: readonly string[];
}

/** Returns the difference between two profiles of the same kind, for requests with `seconds`. */
export function deltaOf(before: Profile, after: Profile): Profile {
  const keyOf = ({ stack }: Sample): string => JSON.stringify(stack.map(({ name, file, line }) => [name, file, line]));
  const changed = new Map<string, Sample>();
  const add = (sample: Sample, sign: 1 | -1): void => {
    const key = keyOf(sample);
    const known = changed.get(key)?.values ?? [];
    changed.set(key, { ...sample, values: sample.values.map((value, at) => (known[at] ?? 0) + sign * value) });
  };
  for (const sample of before.samples) add(sample, -1);
  for (const sample of after.samples) add(sample, 1);
  const samples = [...changed.values()].filter(({ values }) => values.some((value) => value !== 0));
  return { ...after, samples, durationMs: after.timeMs - before.timeMs };
}
