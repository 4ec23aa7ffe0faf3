import { CONFIG_MIRROR_ANNOTATION, type Pod } from '@node-agent/pod-spec';
import { staticPodReferenceProblem } from './api-references.ts';
import { isJsonObject, type JsonPath, type JsonValue, withoutNullFields } from './plain-json.ts';
import type { FieldProblem, PodSchema } from './pod-schema.ts';
import type { ManifestProblem } from './problem.ts';
import { type ManifestOrigin, type PodManifest, toStaticPod } from './static-pod.ts';
import { readYaml, type YamlDocument } from './yaml-documents.ts';

/** What a manifest says. Where `problems` is not empty, pods may be missing from `pods`. */
export interface ManifestReading {
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
}

/**
 * Reads a manifest: YAML or JSON, one or many documents, each a v1 `Pod`, `PodList` or `List` of pods. Each pod that
 * has no problem is made this node's own and given; a problem of one does not touch the others. Bytes that are no UTF-8
 * and a manifest without any document (cut short, say) are problems too: to remove pods, remove the manifest.
 */
export function readManifest(bytes: Uint8Array, origin: ManifestOrigin, schema: PodSchema): ManifestReading {
  const source = origin.location;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return { pods: [], problems: [{ source, message: 'is not UTF-8 text' }] };
  }
  const stream = readYaml(text);
  const pods: Pod[] = [];
  const problems: ManifestProblem[] = stream.problems.map((problem) => ({ source, ...problem }));
  for (const document of stream.documents) {
    for (const item of podItems(document.value)) {
      const result = item.problem === undefined ? readPod(item.value, origin, schema) : [item.problem];
      if (!isProblems(result)) pods.push(result);
      else problems.push(...result.map((problem) => locate(problem, item.path, document, source)));
    }
  }
  if (stream.documents.length === 0 && problems.length === 0) problems.push({ source, message: 'holds no pod' });
  return { pods, problems };
}

interface PodItem {
  readonly value: JsonValue;
  readonly path: JsonPath;
  readonly problem?: FieldProblem;
}

/** The pods of one document: itself, or the items of a list. */
function podItems(value: JsonValue): readonly PodItem[] {
  const refuse = (field: string, message: string): readonly PodItem[] => [
    { value, path: [], problem: { field, message } },
  ];
  if (!isJsonObject(value)) return refuse('', 'is not an object');
  const { apiVersion, kind } = value;
  if (apiVersion !== 'v1') return refuse('apiVersion', `must be "v1", not ${JSON.stringify(apiVersion ?? null)}`);
  if (kind === 'Pod') return [{ value, path: [] }];
  if (kind !== 'PodList' && kind !== 'List') {
    return refuse('kind', `must be "Pod", "PodList" or "List", not ${JSON.stringify(kind ?? null)}`);
  }
  const items: JsonValue = value.items ?? [];
  if (!Array.isArray(items)) return refuse('items', 'must be a list');
  return items.map((item: JsonValue, index): PodItem => {
    const path = ['items', index];
    // The items of a PodList need not say what they are.
    const implied = kind === 'PodList' ? { apiVersion: 'v1', kind: 'Pod' } : {};
    if (!isJsonObject(item)) return { value: item, path, problem: { field: '', message: 'is not an object' } };
    const full: Readonly<Record<string, JsonValue>> = { ...implied, ...item };
    const isPod = full.apiVersion === 'v1' && full.kind === 'Pod';
    const problem = { field: isPod ? '' : 'kind', message: 'must be a v1 Pod' };
    return isPod ? { value: full, path } : { value: full, path, problem };
  });
}

function readPod(raw: JsonValue, origin: ManifestOrigin, schema: PodSchema): Pod | readonly FieldProblem[] {
  const wrong = schema.check(raw);
  if (wrong.length > 0) return wrong;
  const value = withoutNullFields(raw);
  if (!isPodManifest(value)) return [{ field: 'metadata.name', message: 'name is needed for the pod' }];
  if (value.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined) {
    const field = `metadata.annotations[${CONFIG_MIRROR_ANNOTATION}]`;
    return [{ field, message: 'a static pod is no mirror pod' }];
  }
  const pod = schema.applyDefaults(toStaticPod(value, origin));
  const invalid = schema.validate(pod);
  if (invalid.length > 0) return invalid;
  const reference = staticPodReferenceProblem(pod);
  return reference === undefined ? pod : [reference];
}

/** Whether the value, which has the types of a v1 Pod, has what {@link toStaticPod} needs. */
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

/** `spec.containers[0].env[1]` as path; a key in brackets that is no number is taken as it is. */
function fieldPath(field: string): JsonPath {
  return [...field.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([step, bracketed]) => {
    if (bracketed === undefined) return step;
    return /^\d+$/.test(bracketed) ? Number(bracketed) : bracketed;
  });
}
