/** The type and unit of the values in one column of a profile. */
export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

/** A function on a call stack. */
export interface Frame {
  readonly name: string;
  /** The source file. Empty if the function has no file. */
  readonly file: string;
  /** The line on which the function starts, from 1. 0 if unknown. */
  readonly line: number;
}

/** A call stack and its values. */
export interface Sample {
  /** The functions of the stack, the innermost first. */
  readonly stack: readonly Frame[];
  /** The values of the stack: one per sample type of the profile. */
  readonly values: readonly number[];
}

/** A profile in pprof's model (`profile.proto` of github.com/google/pprof), before encoding. */
export interface Profile {
  readonly sampleTypes: readonly ValueType[];
  /** The sample type that is displayed by default. */
  readonly defaultType: string;
  /** The amount of the measured quantity between two samples, such as 10 ms of CPU time, and its type. */
  readonly period?: ValueType & { readonly value: number };
  /** When the profile was taken, in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly durationMs?: number;
  readonly samples: readonly Sample[];
  /** Notes for the readers of the profile. */
  readonly comments?: readonly string[];
}

/** Returns the difference between two profiles of the same kind, for requests with the parameter `seconds`. */
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
