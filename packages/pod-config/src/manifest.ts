import { CONFIG_MIRROR_ANNOTATION, type Pod } from '@node-agent/pod-spec';
import { staticPodReferenceProblem } from './api-references.ts';
import { isJsonObject, type JsonPath, type JsonValue, withoutNullFields } from './plain-json.ts';
import { type FieldProblem, type PodSchema, podSchema } from './pod-schema.ts';
import type { ManifestProblem } from './problem.ts';
import { type ManifestOrigin, type PodManifest, toStaticPod } from './static-pod.ts';
import { readYaml, type YamlDocument } from './yaml-documents.ts';

/** Content of a manifest. If `problems` contains more than warnings, pods may be missing. */
export interface ManifestReading {
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * Reads a manifest: YAML or JSON, one or more documents, each a v1 `Pod`, `PodList` or `List` of pods. Each pod without
 * a problem is converted to a static pod of this node and returned; a problem of one pod does not affect the others.
 * Fields unknown to the API are removed, with a warning. Bytes that are not UTF-8 (or UTF-16 with a byte order mark)
 * are a problem. A manifest without any document is a problem too, because it may be truncated: to remove pods, the
 * manifest must be removed.
 * @param schema default: the v1 Pod
 */
export function readManifest(
  bytes: Uint8Array,
  origin: ManifestOrigin,
  schema: PodSchema = podSchema,
): ManifestReading {
  const source = origin.location;
  let text: string;
  try {
    text = new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    return { pods: [], problems: [{ source, message: 'is not UTF-8 text' }] };
  }
  const stream = readYaml(text);
  const pods: Pod[] = [];
  const problems = new BoundedProblems(source);
  const warnings = new BoundedProblems(source);
  for (const problem of stream.problems) problems.add(() => ({ source, ...problem }));
  for (const warning of stream.warnings) warnings.add(() => ({ source, ...warning, isWarning: true }));
  for (const document of stream.documents) {
    for (const item of podItems(document.value)) {
      const at = (problem: FieldProblem): ManifestProblem => locate(problem, item.path, document, source);
      if (item.problem !== undefined) {
        const { problem } = item;
        problems.add(() => at(problem));
        continue;
      }
      const reading = readPod(item.value, origin, schema);
      if (reading.pod !== undefined) pods.push(reading.pod);
      for (const problem of reading.unknown) warnings.add(() => ({ ...at(problem), isWarning: true }));
      for (const problem of reading.problems) problems.add(() => at(problem));
    }
  }
  if (stream.documents.length === 0 && stream.problems.length === 0) {
    problems.add(() => ({ source, message: 'holds no pod' }));
  }
  return { pods, problems: [...warnings.listed(true), ...problems.listed(false)] };
}

/** Largest number of problems per manifest that are located and listed; the same limit applies to warnings. */
const MAX_LISTED = 50;

/**
 * The first problems of a manifest and the number of further ones. Locating a problem requires a walk over its
 * document.
 */
class BoundedProblems {
  readonly #source: string;
  readonly #listed: ManifestProblem[] = [];
  #count = 0;

  constructor(source: string) {
    this.#source = source;
  }

  add(problem: () => ManifestProblem): void {
    this.#count++;
    if (this.#count <= MAX_LISTED) this.#listed.push(problem());
  }

  listed(areWarnings: boolean): readonly ManifestProblem[] {
    const more = this.#count - this.#listed.length;
    if (more === 0) return this.#listed;
    const message = `${more} more ${areWarnings ? 'warnings' : 'problems'} are not listed`;
    return [...this.#listed, { source: this.#source, message, ...(areWarnings && { isWarning: true }) }];
  }
}

/** Detects the encoding as YAML does: UTF-16, which some editors write, starts with a byte order mark. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

interface PodItem {
  readonly value: JsonValue;
  readonly path: JsonPath;
  readonly problem?: FieldProblem;
}

const POD_KINDS: readonly string[] = ['Pod', 'PodList', 'List'];

/** Returns the pods of one document: the document itself, or the items of a list. */
function podItems(value: JsonValue): readonly PodItem[] {
  const refuse = (field: string, message: string): readonly PodItem[] => [
    { value, path: [], problem: { field, message } },
  ];
  if (!isJsonObject(value)) return refuse('', 'is not an object');
  const { apiVersion, kind } = value;
  if (typeof kind === 'string' && apiVersion !== 'v1' && !POD_KINDS.includes(kind)) {
    return refuse('kind', `is ${JSON.stringify(kind)}: a kubelet takes pods only; anything else needs an API server`);
  }
  if (apiVersion !== 'v1') return refuse('apiVersion', `must be "v1", not ${JSON.stringify(apiVersion ?? null)}`);
  if (kind === 'Pod') return [{ value, path: [] }];
  if (kind !== 'PodList' && kind !== 'List') {
    return refuse('kind', `must be "Pod", "PodList" or "List", not ${JSON.stringify(kind ?? null)}`);
  }
  const items: JsonValue = value.items ?? [];
  if (!Array.isArray(items)) return refuse('items', 'must be a list');
  return items.map((item: JsonValue, index): PodItem => {
    const path = ['items', index];
    // The items of a PodList may omit apiVersion and kind.
    const implied = kind === 'PodList' ? { apiVersion: 'v1', kind: 'Pod' } : {};
    if (!isJsonObject(item)) return { value: item, path, problem: { field: '', message: 'is not an object' } };
    const full: Readonly<Record<string, JsonValue>> = { ...implied, ...item };
    if (full.apiVersion === 'v1' && full.kind === 'Pod') return { value: full, path };
    return { value: full, path, problem: { field: 'kind', message: 'must be a v1 Pod' } };
  });
}

interface PodReading {
  readonly pod?: Pod;
  readonly problems: readonly FieldProblem[];
  /** Fields that were removed from the pod because the API does not know them. */
  readonly unknown: readonly FieldProblem[];
}

/**
 * Reads one pod. Fields that this kubelet does not know are removed, because pods of newer manifests must still run.
 */
function readPod(raw: JsonValue, origin: ManifestOrigin, schema: PodSchema): PodReading {
  const wrong = schema.check(raw);
  const unknown = wrong.filter(({ type }) => type === 'Unknown field');
  const known = unknown.length === 0 ? raw : schema.prune(raw);
  const problems = unknown.length === 0 ? wrong : schema.check(known);
  const pod = problems.length === 0 ? toPod(known, origin, schema) : problems;
  return isProblems(pod) ? { problems: pod, unknown } : { pod, problems: [], unknown };
}

function toPod(raw: JsonValue, origin: ManifestOrigin, schema: PodSchema): Pod | readonly FieldProblem[] {
  const value = withoutNullFields(raw);
  if (!isPodManifest(value)) {
    const isNamed = isJsonObject(value) && isJsonObject(value.metadata) && value.metadata.name;
    if (isNamed) return [{ field: 'spec.containers', message: 'Required value' }];
    return [{ field: 'metadata.name', message: 'name is needed for the pod' }];
  }
  const { metadata } = value;
  if (metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined) {
    const field = `metadata.annotations[${CONFIG_MIRROR_ANNOTATION}]`;
    return [{ field, message: 'must not be a mirror pod' }];
  }
  if (/^\.\.?$|[/\0]/.test(metadata.uid ?? '')) {
    return [{ field: 'metadata.uid', message: 'must be usable as the name of a directory' }];
  }
  const pod = schema.applyDefaults(toStaticPod(value, origin));
  const invalid = schema.validate(pod);
  if (invalid.length > 0) return invalid;
  const reference = staticPodReferenceProblem(pod);
  return reference === undefined ? pod : [reference];
}

/** Returns whether the value, whose types were checked, has the fields that {@link toStaticPod} needs. */
function isPodManifest(value: unknown): value is PodManifest {
  const { metadata, spec } = value as { metadata?: { name?: unknown } | null; spec?: unknown };
  return typeof metadata?.name === 'string' && metadata.name !== '' && typeof spec === 'object' && spec !== null;
}

function isProblems(result: Pod | readonly FieldProblem[]): result is readonly FieldProblem[] {
  return Array.isArray(result);
}

function locate(problem: FieldProblem, at: JsonPath, document: YamlDocument, source: string): ManifestProblem {
  const { field, message } = problem;
  const place = document.locate([...at, ...fieldPath(field)]);
  return { source, ...place, ...(field === '' ? {} : { field }), message };
}

/** Converts `spec.containers[0].env[1]` to a path. */
function fieldPath(field: string): JsonPath {
  return [...field.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([step, bracketed]) => bracketed ?? step);
}
