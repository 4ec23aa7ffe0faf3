import { KubeError } from './errors.ts';

/** `JSON.rawJSON` and a reviver's view of the source text are newer than the language level that is compiled for. */
interface JsonWithSource {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

const json = JSON as unknown as JsonWithSource;

/** Sixteen digits in a row after what can come before a number: 2^53 has sixteen. Strings may match too; no matter. */
const LONG_INTEGER = /[:,[\s]-?\d{16}/;

/**
 * Parses JSON so that `JSON.stringify` gives every value back as it came: unknown fields are kept, and an integer that a
 * JavaScript number cannot hold becomes what `JSON.rawJSON` gives rather than another integer.
 * @throws KubeError `InvalidResponse`; of what could not be parsed it quotes the beginning only where that is no JSON, but a proxy's page
 */
export function parseJson(text: string): unknown {
  return parsed(text, () => (LONG_INTEGER.test(text) ? json.parse(text, keepInteger) : JSON.parse(text)));
}

/**
 * Parses JSON of objects that are looked at, and not written back: each integer is a number, as their types say, beyond 2^53 the nearest
 * that JavaScript has.
 * @throws as {@link parseJson}
 */
export function parseObjects(text: string): unknown {
  return parsed(text, () => JSON.parse(text));
}

function parsed(text: string, parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    // The parser's own message quotes what it read, which may be a secret (W4).
    throw new KubeError({ code: 'InvalidResponse', message: `not JSON: ${sayWhat(text)}` });
  }
}

function sayWhat(text: string): string {
  if (!text.trimStart().startsWith('<')) return `${text.length} characters`;
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}

function keepInteger(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? json.rawJSON(source) : value;
}

/** Whether a parsed value is an object, not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
