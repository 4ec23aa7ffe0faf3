import { errorText } from '@node-agent/telemetry';
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type ScalarTag,
  type Tags,
  visit,
} from '@node-agent/yaml';
import { type JsonPath, type JsonValue, NotJsonError, toPlainJson } from './plain-json.ts';
import { aliasTargets, YamlConversion } from './yaml-conversion.ts';

/** A position in a text; line and column start at 1. */
interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** A document of a YAML stream that was read without an error. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** Returns the position of the value at `path`, or of the nearest enclosing value that exists. */
  locate(path: JsonPath): TextPlace;
}

/** A problem in one document of a stream. */
interface YamlProblem extends TextPlace {
  readonly message: string;
}

/**
 * The documents of a stream that could be read, one problem for each document that could not be read, and warnings
 * about duplicate keys.
 */
export interface YamlStream {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
  readonly warnings: readonly YamlProblem[];
}

/** No real pod comes near these limits; a text that expands to more is an attack or a mistake. */
const LIMITS = { maxValues: 200_000, maxDepth: 100 };
/**
 * Integers that Go's YAML library accepts but YAML 1.1 does not: those with other letters for the base (`0o17`, `0X1F`,
 * `0B11`), and `0_`.
 */
const GO_INTEGER: ScalarTag = {
  default: true,
  tag: 'tag:yaml.org,2002:int',
  test: /^[-+]?0(?:_+|[oO]_*[0-7][0-7_]*|X_*[\da-fA-F][\da-fA-F_]*|B_*[01][01_]*)$/,
  resolve: (text) => {
    const digits = Number(text.replace(/^[-+]/, '').replaceAll('_', ''));
    return text.startsWith('-') ? -digits : digits;
  },
};

/**
 * Parses a text as YAML 1.1, which includes JSON, in the way in which Kubernetes reads manifests (`sigs.k8s.io/yaml`).
 * `yes` and `on` are true, `0777` and `0o777` are octal. Dates, `1:30`, `.` and `e2` stay text, and local tags
 * (`!mine`) are ignored. Empty documents are skipped. Of a duplicate key the last value is used, with a warning. Cyclic
 * aliases, aliases that multiply beyond the limits, tags of YAML types that JSON lacks, and other YAML versions are
 * problems.
 */
export function readYaml(text: string): YamlStream {
  return readCompactJson(text) ?? parseYaml(text);
}

/**
 * Parses compact JSON, as programs write it, with the JSON parser, which is far faster. Returns `undefined` for any
 * other text and for invalid JSON, so that the YAML parser reports the position of the mistake.
 */
function readCompactJson(text: string): YamlStream | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    // A duplicate key, or a number that JavaScript cannot represent, does not survive the round trip.
    if (JSON.stringify(parsed) !== text.trimEnd()) return undefined;
    let asYaml: YamlDocument | undefined;
    const locate = (path: JsonPath): TextPlace => {
      asYaml ??= parseYaml(text).documents[0];
      return asYaml?.locate(path) ?? { line: 1, column: 1 };
    };
    return { documents: [{ value: toPlainJson(parsed, LIMITS), locate }], problems: [], warnings: [] };
  } catch {
    return undefined;
  }
}

function parseYaml(text: string): YamlStream {
  const lineCounter = new LineCounter();
  const documents: YamlDocument[] = [];
  const problems: YamlProblem[] = [];
  const warnings: YamlProblem[] = [];
  const place = (offset: number): TextPlace => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  let parsed: readonly Document.Parsed[];
  try {
    parsed = [
      ...parseAllDocuments(text, {
        version: '1.1',
        customTags: jsonTags,
        // The library compares each key with all earlier keys, which takes minutes for a large map.
        uniqueKeys: false,
        prettyErrors: false,
        logLevel: 'silent',
        lineCounter,
      }),
    ];
  } catch (error) {
    // The parser throws only for a text that nests deeper than the stack allows.
    return { documents, problems: [{ line: 1, column: 1, message: errorText(error) }], warnings };
  }
  for (const document of parsed) {
    const locate = (path: JsonPath): TextPlace => place(offsetOf(document, path));
    const fault = document.errors[0] ?? document.warnings.find(({ message }) => !LOCAL_TAG.test(message));
    if (fault !== undefined) {
      problems.push({ ...place(fault.pos[0]), message: fault.message });
      continue;
    }
    const { version } = document.directives.yaml;
    if (version !== '1.1') {
      problems.push({ ...place(document.range[0]), message: `YAML ${version} is not supported, only YAML 1.1` });
      continue;
    }
    leaveTexts(document);
    try {
      const conversion = new YamlConversion(document, LIMITS);
      const value = conversion.convert();
      for (const { name, offset } of conversion.duplicateKeys) {
        warnings.push({ ...place(offset), message: `duplicate key ${JSON.stringify(name)}: the last value is used` });
      }
      if (value !== null) documents.push({ value, locate });
    } catch (error) {
      // A value that nests deeper than the stack allows causes an error, too.
      problems.push({ ...locate(error instanceof NotJsonError ? error.path : []), message: errorText(error) });
    }
  }
  return { documents, problems, warnings };
}

/** Infinity and NaN are numbers in YAML 1.1 but not in JSON; they are reported as problems. */
const NOT_FINITE = /^[-+]?\.(?:inf|nan)$/i;

/**
 * As Go does, keeps scalars as text that YAML 1.1 would read as a number although they lack a required digit or are too
 * large: `.`, `e2`, and `1234e567` (the start of a commit ID).
 */
function leaveTexts(document: Document.Parsed): void {
  visit(document, {
    Scalar(_key, scalar) {
      const { value, source } = scalar;
      if (typeof value !== 'number' || Number.isFinite(value) || NOT_FINITE.test(String(source))) return;
      scalar.value = source;
    },
  });
}

/** The library's warning about a local tag. */
const LOCAL_TAG = /^Unresolved tag: !/;

/** Returns YAML 1.1's types except those that JSON lacks and base 60 numbers. */
function jsonTags(tags: Tags): Tags {
  const foreign = /:(binary|omap|pairs|set|timestamp)$/;
  const known = tags.filter(
    (tag) => typeof tag === 'string' || !(foreign.test(tag.tag) || ('format' in tag && tag.format === 'TIME')),
  );
  return [GO_INTEGER, ...known];
}

/** Returns the offset of the deepest node along `path`; for a value of a map, the offset of its key. */
function offsetOf(document: Document.Parsed, path: JsonPath): number {
  let offset = document.contents?.range[0] ?? document.range[0];
  let node: unknown = document.contents;
  let targets: ReadonlyMap<unknown, unknown> | undefined;
  for (const step of path) {
    if (isAlias(node)) {
      targets ??= aliasTargets(document);
      node = targets.get(node);
    }
    if (isSeq(node)) node = node.items[Number(step)];
    else if (isMap(node)) {
      const pair = node.items.findLast(({ key }) => isScalar(key) && String(key.value) === String(step));
      if (pair === undefined || !isScalar(pair.key)) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
      continue;
    } else return offset;
    offset = rangeStart(node) ?? offset;
  }
  return offset;
}

function rangeStart(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
}
