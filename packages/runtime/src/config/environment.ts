import {
  type Container,
  type EnvVar,
  expand,
  MAX_EXPANDED_LENGTH,
  type Pod,
  type ResourceListJson,
} from '@node-agent/pod-spec';
import { PodRuntimeError } from '../errors.ts';
import type { EnvironmentFiles } from '../reconcile/env-files.ts';
import { type FileVariables, variablesOfFile } from './env-file.ts';
import { asInvalidSpec, type PodAddresses, podFieldValue } from './field-path.ts';
import type { EnvironmentObjects, ObjectReference } from './object-source.ts';
import { resourceFieldValue } from './resource-field.ts';

/** One environment variable of a container. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** Inputs of an environment, besides the pod. */
export interface EnvironmentContext extends PodAddresses {
  /** Allocatable resources of the node by name, shown as limits of containers without limits. */
  readonly nodeAllocatable: ResourceListJson;
  /** Secrets and ConfigMaps that the container refers to, from {@link readEnvironmentObjects}. */
  readonly objects: EnvironmentObjects;
  /** Files that the container's `fileKeyRef`s refer to; required if there are any. */
  readonly files?: EnvironmentFiles;
  /** Variables of services (`enableServiceLinks`). The container's own variables take precedence. */
  readonly services?: readonly EnvironmentVariable[];
}

/**
 * Returns the environment of a container in declaration order: `envFrom`; then `env`, with `$(NAME)` expanded from
 * earlier variables and services; then the services' variables (`makeEnvironmentVariables` in
 * `pkg/kubelet/kubelet_pods.go`). An environment that is larger than any program can receive is rejected, because the
 * kubelet would hold it in memory (W3).
 * @throws PodRuntimeError
 */
export function makeEnvironment(
  pod: Pod,
  container: Container,
  context: EnvironmentContext,
): readonly EnvironmentVariable[] {
  const services = new Map(context.services?.map(({ name, value }) => [name, value]));
  const own = new Map<string, string>();
  let room = MAX_EXPANDED_LENGTH;
  const set = (name: string, value: string): void => {
    room -= name.length + value.length;
    if (room < 0) {
      const message = `the environment of container ${container.name} has more than ${MAX_EXPANDED_LENGTH} characters`;
      throw new PodRuntimeError('InvalidSpec', message);
    }
    own.set(name, value);
  };
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const data = configMapRef
      ? object('configMap', configMapRef.name ?? '', configMapRef.optional, context)
      : secretRef && object('secret', secretRef.name ?? '', secretRef.optional, context);
    for (const [key, value] of Object.entries(data ?? {})) set(prefix + key, value);
  }
  const files = readOnce(context.files);
  for (const variable of container.env ?? []) {
    const value = variable.value
      ? expanded(variable.name, variable.value, (name) => own.get(name) ?? services.get(name), room)
      : referredValue(variable, pod, container, context, files);
    if (value !== undefined) set(variable.name, value);
  }
  for (const [name, value] of services) if (!own.has(name)) own.set(name, value);
  return Array.from(own, ([name, value]) => ({ name, value }));
}

function expanded(name: string, value: string, lookUp: (name: string) => string | undefined, room: number): string {
  return asInvalidSpec(() => expand(value, lookUp, room), `environment variable ${name}: `);
}

/** Returns the variables of a file by its volume and path. */
type VariablesOf = (volumeName: string, path: string) => FileVariables;

/** Reads each file only once, because many variables may refer to the same file. */
function readOnce(files: EnvironmentFiles | undefined): VariablesOf {
  const known = new Map<string, FileVariables>();
  return (volumeName, path) => {
    const key = JSON.stringify([volumeName, path]);
    const variables = known.get(key) ?? variablesOfFile(files?.(volumeName, path) ?? '');
    known.set(key, variables);
    return variables;
  };
}

/** Returns the value of `valueFrom`; `undefined` if the referenced value is optional and does not exist. */
function referredValue(
  { valueFrom }: EnvVar,
  pod: Pod,
  container: Container,
  context: EnvironmentContext,
  files: VariablesOf,
): string | undefined {
  if (!valueFrom) return '';
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom;
  if (fieldRef) return podFieldValue(pod, fieldRef.fieldPath, context, fieldRef.apiVersion);
  if (resourceFieldRef) return resourceFieldValue(pod, container, resourceFieldRef, context.nodeAllocatable);
  if (configMapKeyRef) return keyOf('configMap', configMapKeyRef, pod, context);
  if (secretKeyRef) return keyOf('secret', secretKeyRef, pod, context);
  if (fileKeyRef) return valueInFile(fileKeyRef, files);
  return '';
}

/**
 * Returns the value of a `fileKeyRef`. An empty value counts as missing: `undefined` if the reference is optional,
 * otherwise an error.
 */
function valueInFile(
  { volumeName, path, key, optional }: NonNullable<NonNullable<EnvVar['valueFrom']>['fileKeyRef']>,
  files: VariablesOf,
): string | undefined {
  const value = files(volumeName, path)(key);
  if (value || optional) return value || undefined;
  const message = `environment variable key ${JSON.stringify(key)} not found in file ${JSON.stringify(path)}`;
  throw new PodRuntimeError('InvalidSpec', message);
}

function keyOf(
  kind: ObjectReference['kind'],
  reference: { readonly name?: string; readonly key: string; readonly optional?: boolean },
  pod: Pod,
  context: EnvironmentContext,
): string | undefined {
  const { name = '', key, optional } = reference;
  const data = object(kind, name, optional, context);
  if (data && Object.hasOwn(data, key)) return data[key];
  if (optional) return undefined;
  const what = kind === 'secret' ? 'Secret' : 'ConfigMap';
  throw new PodRuntimeError('MissingObject', `couldn't find key ${key} in ${what} ${pod.metadata.namespace}/${name}`);
}

function object(
  kind: ObjectReference['kind'],
  name: string,
  optional: boolean | undefined,
  { objects }: EnvironmentContext,
): Readonly<Record<string, string>> | undefined {
  const found = objects(kind, name);
  if (found || optional) return found;
  throw new PodRuntimeError('MissingObject', `${kind.toLowerCase()} "${name}" not found`);
}
