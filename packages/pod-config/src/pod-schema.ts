import { checkPod, defaultPod, type Pod, validatePod, withKnownFields } from '@node-agent/pod-spec';
import type { JsonValue } from './plain-json.ts';

/** A problem of one field of a pod. */
export interface FieldProblem {
  /** Field path: `spec.containers[0].image`. Empty for the pod itself. */
  readonly field: string;
  readonly message: string;
  /** `Unknown field` if the API has no such field; the pod can run without it. */
  readonly type?: string;
}

/** The operations of the pod API that reading a manifest needs. */
export interface PodSchema {
  /** Returns the problems of a decoded v1 Pod document: unknown fields and values of wrong types. */
  check(value: JsonValue): readonly FieldProblem[];
  /** Returns the document without the fields that the API does not know. */
  prune(value: JsonValue): JsonValue;
  /** Returns the pod with the API's defaults filled in. */
  applyDefaults(pod: Pod): Pod;
  /** Returns the reasons for which the API server would reject the pod. The pod must have its defaults. */
  validate(pod: Pod): readonly FieldProblem[];
}

/** Schema of the v1 Pod, implemented by `@node-agent/pod-spec`. */
export const podSchema: PodSchema = {
  check: checkPod,
  // The result consists only of parts of a JSON value.
  prune: (value) => withKnownFields(value) as JsonValue,
  applyDefaults: defaultPod,
  validate: validatePod,
};
