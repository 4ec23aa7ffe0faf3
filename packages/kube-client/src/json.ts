import { KubeError } from './errors.ts';

/**
 * The JSON features that the compiler's language level does not have yet: `JSON.rawJSON`, and the source text for
 * revivers.
 */
interface JsonWithSource {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}

const json = JSON as unknown as JsonWithSource;

/**
 * Matches an integer that may be beyond 2^53, which has 16 digits: 16 digits after a character that can precede a
 * number. A match inside a string only makes parsing slower.
 */
const LONG_INTEGER = /[:,[\s]-?\d{16}/;

/**
 * Parses JSON so that `JSON.stringify` reproduces every value: unknown fields are kept, and an integer beyond 2^53
 * becomes a `JSON.rawJSON` object instead of a rounded number.
 * @throws KubeError `InvalidResponse`. The message quotes the start of the text only if it is markup, such as a proxy's
 * error page
 */
export function parseJson(text: string): unknown {
  return parsed(text, () => (LONG_INTEGER.test(text) ? json.parse(text, keepInteger) : JSON.parse(text)));
}

/**
 * Parses JSON of objects that are only read and not written back. Each integer becomes a number, as the types say; an
 * integer beyond 2^53 is rounded.
 * @throws as {@link parseJson}
 */
export function parseObjects(text: string): unknown {
  return parsed(text, () => JSON.parse(text));
}

function parsed(text: string, parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    // The parser's own message quotes the text, which may contain a secret (W4).
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

/** Returns whether a parsed value is an object and not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
