import type { Frame, Profile, ValueType } from './profile.ts';
import { ProtoWriter } from './proto-writer.ts';

/**
 * ID of the only mapping, which all locations refer to. The mapping marks symbols as resolved, so that pprof looks up
 * nothing in a binary.
 */
const MAPPING_ID = 1;
const NANOSECONDS = 1e6;

/**
 * Encodes a profile for `go tool pprof` (`profile.proto` of github.com/google/pprof), uncompressed. Field numbers are
 * those of `profile.proto`.
 * @param program the name of the program, for the mapping
 */
export function encodeProfile(profile: Profile, program: string): Uint8Array {
  const strings = new Table<string>((text) => text);
  // The format requires that the first string is empty.
  strings.idOf('');
  const functions = new Table<Frame>(({ name, file, line }) => JSON.stringify([name, file, line]));
  const text = (value: string): number => strings.idOf(value) - 1;
  const valueType = ({ type, unit }: ValueType) => {
    return (inner: ProtoWriter): void => {
      inner.number(1, text(type));
      inner.number(2, text(unit));
    };
  };

  const out = new ProtoWriter();
  for (const type of profile.sampleTypes) out.message(1, valueType(type));
  for (const { stack, values } of profile.samples) {
    out.message(2, (sample) => {
      sample.packed(
        1,
        stack.map((frame) => functions.idOf(frame)),
      );
      sample.packed(2, values);
    });
  }
  out.message(3, (mapping) => {
    mapping.number(1, MAPPING_ID);
    mapping.number(5, text(program));
    for (const isThere of [7, 8, 9]) mapping.number(isThere, 1);
  });
  for (const [id, frame] of functions.entries()) {
    out.message(4, (location) => {
      location.number(1, id);
      location.number(2, MAPPING_ID);
      location.message(4, (line) => {
        line.number(1, id);
        line.number(2, frame.line);
      });
    });
    out.message(5, (fn) => {
      fn.number(1, id);
      fn.number(2, text(frame.name));
      fn.number(3, text(frame.name));
      fn.number(4, text(frame.file));
      fn.number(5, frame.line);
    });
  }
  out.number(9, profile.timeMs * NANOSECONDS);
  out.number(10, (profile.durationMs ?? 0) * NANOSECONDS);
  const { period } = profile;
  if (period !== undefined) {
    out.message(11, valueType(period));
    out.number(12, period.value);
  }
  out.packed(13, (profile.comments ?? []).map(text));
  out.number(14, text(profile.defaultType));
  // The strings are written last, when all strings are known.
  for (const [, value] of strings.entries()) out.text(6, value);
  return out.bytes();
}

/** Assigns numbers to values, starting at 1. */
class Table<T> {
  readonly #keyOf: (value: T) => string;
  readonly #ids = new Map<string, number>();
  readonly #values: T[] = [];

  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf;
  }

  idOf(value: T): number {
    const key = this.#keyOf(value);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#values.push(value);
    this.#ids.set(key, this.#values.length);
    return this.#values.length;
  }

  *entries(): Generator<readonly [number, T]> {
    for (const [index, value] of this.#values.entries()) yield [index + 1, value];
  }
}
