import { checkPod, defaultPod, type Pod, validatePod } from '@node-agent/pod-spec';
import type { JsonValue } from './plain-json.ts';

/** What is wrong with one field of a pod. */
export interface FieldProblem {
  /** As `spec.containers[0].image`; '' for the pod itself. */
  readonly field: string;
  readonly message: string;
}

/** The pod API, as far as reading a manifest needs it. */
export interface PodSchema {
  /** The problems of a decoded document that is meant to be a v1 Pod: unknown fields, values of wrong types. */
  check(value: JsonValue): readonly FieldProblem[];
  /** The pod with the API's defaults where it says nothing. */
  applyDefaults(pod: Pod): Pod;
  /** The problems of a defaulted pod: what the API server would refuse. */
  validate(pod: Pod): readonly FieldProblem[];
}

/** The v1 Pod, as `@node-agent/pod-spec` knows it. */
export const podSchema: PodSchema = { check: checkPod, applyDefaults: defaultPod, validate: validatePod };
