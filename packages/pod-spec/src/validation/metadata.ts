import type { Pod } from '../api.ts';
import { fieldError, invalid, required } from '../field-error.ts';
import { dns1123LabelProblem, dns1123SubdomainProblem, labelValueProblem, qualifiedNameProblem } from '../names.ts';
import { named, type Problems } from './rules.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Validates the metadata fields that a manifest may set. */
export function* validateMetadata(metadata: Pod['metadata'], path: string): Problems {
  if (!metadata.name) yield required(`${path}.name`, 'name or generateName is required');
  else yield* named(`${path}.name`, metadata.name, dns1123SubdomainProblem);
  if (!metadata.namespace) yield required(`${path}.namespace`);
  else yield* named(`${path}.namespace`, metadata.namespace, dns1123LabelProblem);
  yield* validateLabels(metadata.labels ?? {}, `${path}.labels`);
  yield* validateAnnotations(metadata.annotations ?? {}, `${path}.annotations`);
}

/** Validates the keys and values of labels and label selectors. */
export function* validateLabels(labels: Readonly<Record<string, string>>, path: string): Problems {
  for (const [key, value] of Object.entries(labels)) {
    yield* named(path, key, qualifiedNameProblem);
    yield* named(path, value, labelValueProblem);
  }
}

function* validateAnnotations(annotations: Readonly<Record<string, string>>, path: string): Problems {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    for (const problem of qualifiedNameProblem(key.toLowerCase())) yield invalid(path, key, problem);
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > MAX_ANNOTATION_BYTES) {
    yield fieldError('Too long', path, `may not be more than ${MAX_ANNOTATION_BYTES} bytes`);
  }
}
