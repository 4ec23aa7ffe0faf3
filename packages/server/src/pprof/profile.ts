/** What a column of a profile counts. */
export interface ValueType {
  readonly type: string;
  readonly unit: string;
}

/** A function on a stack. */
export interface Frame {
  readonly name: string;
  /** '' where it is of no file. */
  readonly file: string;
  /** Where the function begins, from 1 on; 0 where that is not known. */
  readonly line: number;
}

/** Something that was counted, and where. */
export interface Sample {
  /** The innermost first. */
  readonly stack: readonly Frame[];
  /** One for each of the profile's types. */
  readonly values: readonly number[];
}

/** A profile as pprof has it (`profile.proto` of github.com/google/pprof), before it is written. */
export interface Profile {
  readonly sampleTypes: readonly ValueType[];
  /** What is shown where nobody says what to show. */
  readonly defaultType: string;
  /** How much of what lies between two samples. */
  readonly period?: ValueType & { readonly value: number };
  /** When it was taken, in milliseconds since the Unix epoch. */
  readonly timeMs: number;
  readonly durationMs?: number;
  readonly samples: readonly Sample[];
  /** For whoever reads it. */
  readonly comments?: readonly string[];
}

/** What changed from one profile to the next one of the same kind: what a request for some seconds of it gets. */
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
