import {
  containerResourceValue,
  metadataFieldValue,
  type Pod,
  PodSpecError,
  type ResourceListJson,
  type Volume,
} from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import type { Payload, ProjectedFile } from './payload.ts';

/** A file of a downward API volume. */
export type DownwardApiFile = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/**
 * Returns the files of a downward API volume (`CollectData` of `pkg/volume/downwardapi`): fields of the pod's metadata,
 * and resources of its containers. For a container without a limit, the node's allocatable resources are used.
 * @throws VolumeError `InvalidSource`, naming each invalid file and the reason
 */
export function downwardApiPayload(
  pod: Pod,
  items: readonly DownwardApiFile[],
  defaultMode: number,
  nodeAllocatable: ResourceListJson,
): Payload {
  const payload = new Map<string, ProjectedFile>();
  const problems: string[] = [];
  for (const item of items) {
    try {
      const value = fileText(pod, item, nodeAllocatable);
      payload.set(item.path, { data: Buffer.from(value), mode: item.mode ?? defaultMode });
    } catch (error) {
      if (!PodSpecError.is(error)) throw error;
      problems.push(`file ${item.path}: ${error.message}`);
    }
  }
  if (problems.length > 0) throw new VolumeError('InvalidSource', problems.join('; '));
  return payload;
}

function fileText(
  pod: Pod,
  { fieldRef, resourceFieldRef }: DownwardApiFile,
  nodeAllocatable: ResourceListJson,
): string {
  if (fieldRef) return metadataFieldValue(pod, fieldRef.fieldPath);
  if (!resourceFieldRef) {
    throw new PodSpecError('InvalidFieldPath', 'one of fieldRef and resourceFieldRef is required');
  }
  const { containerName = '', ...selector } = resourceFieldRef;
  const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
    ({ name }) => name === containerName,
  );
  if (!container) throw new PodSpecError('InvalidFieldPath', `container ${containerName} not found`);
  return containerResourceValue(container, selector, (name) => nodeAllocatable[name]);
}
