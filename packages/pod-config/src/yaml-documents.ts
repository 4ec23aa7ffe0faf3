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
} from 'yaml';
import { type JsonPath, type JsonValue, NotJsonError, toPlainJson } from './plain-json.ts';
import { aliasTargets, YamlConversion } from './yaml-conversion.ts';

/** A place in a text, both from 1. */
interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** One document of a YAML stream, read without error. */
export interface YamlDocument {
  readonly value: JsonValue;
  /** Where the value at `path` stands, or the nearest value around it that is there. */
  locate(path: JsonPath): TextPlace;
}

/** What is wrong with one document of a stream. */
interface YamlProblem extends TextPlace {
  readonly message: string;
}

/** All documents of a stream that could be read, one problem for each that could not, and duplicate keys as warnings. */
export interface YamlStream {
  readonly documents: readonly YamlDocument[];
  readonly problems: readonly YamlProblem[];
  readonly warnings: readonly YamlProblem[];
}

/** A pod never comes near these; a text that unfolds to more is an attack or a mistake. */
const LIMITS = { maxValues: 200_000, maxDepth: 100 };
/** Whole numbers that Go knows, and YAML 1.1 does not: those whose base has another letter (`0o17`, `0X1F`, `0B11`), and `0_`. */
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
 * Reads a text as YAML 1.1, of which JSON is a part, the way Kubernetes reads manifests (`sigs.k8s.io/yaml`): `yes` and
 * `on` are true, `0777` and `0o777` are octal; but dates, `1:30`, `.` and `e2` stay text, and tags of one's own (`!mine`) mean
 * nothing. Empty documents are left out. Of a duplicate key the last value counts, with a warning. Aliases that enclose themselves or
 * multiply beyond reason, tags of YAML's other types, and other versions of YAML are problems.
 */
export function readYaml(text: string): YamlStream {
  return readCompactJson(text) ?? parseYaml(text);
}

/**
 * What a program has written as JSON, without spaces, is the same value in both languages, and far quicker to read as
 * JSON. `undefined` for any other text, and for one with a mistake: YAML's reader tells where it is.
 */
function readCompactJson(text: string): YamlStream | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    // A key that is given twice, or a number that JavaScript has not, does not come back.
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
        // The library compares each key with all before it, which of many takes minutes.
        uniqueKeys: false,
        prettyErrors: false,
        logLevel: 'silent',
        lineCounter,
      }),
    ];
  } catch (error) {
    // Nothing but a text that is nested beyond the stack does this.
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
      problems.push({ ...place(document.range[0]), message: `YAML ${version} is not read, only YAML 1.1` });
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
      // Also a value that is nested beyond the stack.
      problems.push({ ...locate(error instanceof NotJsonError ? error.path : []), message: errorText(error) });
    }
  }
  return { documents, problems, warnings };
}

/** What is no number, though YAML 1.1 has it as one, and says so itself. */
const NOT_FINITE = /^[-+]?\.(?:inf|nan)$/i;

/**
 * What looks like a number and has no digit where one has to be, or is too large, stays the text that it is, as with Go: `.`, `e2`, and
 * `1234e567`, the beginning of a commit's name.
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

/** What the library says of a tag that only its author knows. */
const LOCAL_TAG = /^Unresolved tag: !/;

/** YAML 1.1's types without those that JSON has not, and without base 60. */
function jsonTags(tags: Tags): Tags {
  const foreign = /:(binary|omap|pairs|set|timestamp)$/;
  const known = tags.filter(
    (tag) => typeof tag === 'string' || !(foreign.test(tag.tag) || ('format' in tag && tag.format === 'TIME')),
  );
  return [GO_INTEGER, ...known];
}

/** The offset of the deepest node on the way to `path`; of a map's value, its key's. */
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
