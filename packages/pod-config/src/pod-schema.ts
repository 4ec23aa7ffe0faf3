import { checkPod, defaultPod, type Pod, validatePod, withKnownFields } from '@node-agent/pod-spec';
import type { JsonValue } from './plain-json.ts';

/** What is wrong with one field of a pod. */
export interface FieldProblem {
  /** As `spec.containers[0].image`; '' for the pod itself. */
  readonly field: string;
  readonly message: string;
  /** `Unknown field` where the API has no such field, so that the pod can do without it. */
  readonly type?: string;
}

/** The pod API, as far as reading a manifest needs it. */
export interface PodSchema {
  /** The problems of a decoded document that is meant to be a v1 Pod: unknown fields, values of wrong types. */
  check(value: JsonValue): readonly FieldProblem[];
  /** The document without the fields that the API does not know. */
  prune(value: JsonValue): JsonValue;
  /** The pod with the API's defaults where it says nothing. */
  applyDefaults(pod: Pod): Pod;
  /** The problems of a defaulted pod: what the API server would refuse. */
  validate(pod: Pod): readonly FieldProblem[];
}

/** The v1 Pod, as `@node-agent/pod-spec` knows it. */
export const podSchema: PodSchema = {
  check: checkPod,
  // Nothing but parts of a JSON value can be in it.
  prune: (value) => withKnownFields(value) as JsonValue,
  applyDefaults: defaultPod,
  validate: validatePod,
};
