import { fnv32a, type JsonObject } from '@node-agent/checkpoint';
import { formatResourceList, goJson, parseResourceList, type ResourceRequirements } from '@node-agent/pod-spec';
import type { PodResources } from './pod-resources.ts';

/**
 * Encodes the resources of all pods as upstream does in its state files, so that a machine can switch between the Go
 * kubelet and this kubelet (`pkg/kubelet/allocation/state/checkpoint.go`): `{"data": "<JSON of all pods>", "checksum":
 * N}`.
 */
export function encodePods(pods: ReadonlyMap<string, PodResources>): { readonly data: string } {
  if (pods.size === 0) return { data: goJson({}) };
  const entries = [...pods].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const texts = entries.map(([uid, resources]) => `${goJson(uid)}:${podText(resources)}`);
  return { data: `{"entries":{${texts.join(',')}}}` };
}

/** Encoded resources, so that the same object is encoded only once. */
const podTexts = new WeakMap<PodResources, string>();

/** Encodes the resources of one pod. */
export function podText(resources: PodResources): string {
  let text = podTexts.get(resources);
  if (text === undefined) {
    text = goJson(encodePod(resources));
    podTexts.set(resources, text);
  }
  return text;
}

/** Decodes a state file. @throws Error that describes the problem */
export function decodePods({ data }: JsonObject): ReadonlyMap<string, PodResources> {
  if (typeof data !== 'string') throw new Error('field data must be a string');
  const { entries = {} } = asObject(JSON.parse(data), 'data');
  const pods = Object.entries(asObject(entries ?? {}, 'entries'));
  return new Map(pods.map(([uid, pod]) => [uid, decodePod(pod, uid)]));
}

/**
 * Computes upstream's checksum: 32-bit FNV-1a of the text that go-spew prints for the field `data`
 * (`pkg/kubelet/checkpointmanager/checksum`).
 */
export function dataChecksum(content: JsonObject): number {
  return fnv32a(`(string)${String(content.data)}`);
}

function encodePod({ containers, pod }: PodResources): object {
  const encoded = Object.entries(containers).map(([name, resources]) => [name, encodeResources(resources)] as const);
  return { ContainerResources: inOrder(encoded), PodLevelResources: pod === undefined ? null : encodeResources(pod) };
}

/** Encodes with Go's order of fields, and quantities in canonical form. */
function encodeResources({ limits, requests, claims }: ResourceRequirements): object {
  const list = (of: Readonly<Record<string, string>>): object =>
    inOrder(Object.entries(formatResourceList(parseResourceList(of))));
  return {
    ...(limits && Object.keys(limits).length > 0 && { limits: list(limits) }),
    ...(requests && Object.keys(requests).length > 0 && { requests: list(requests) }),
    ...(claims && claims.length > 0 && { claims }),
  };
}

function decodePod(value: unknown, uid: string): PodResources {
  const { ContainerResources, PodLevelResources } = asObject(value, `entries[${uid}]`);
  const containers = Object.entries(asObject(ContainerResources ?? {}, `entries[${uid}].ContainerResources`));
  return {
    containers: Object.fromEntries(containers.map(([name, one]) => [name, decodeResources(one, `${uid}/${name}`)])),
    ...(PodLevelResources != null && { pod: decodeResources(PodLevelResources, uid) }),
  };
}

function decodeResources(value: unknown, where: string): ResourceRequirements {
  const resources = asObject(value, where) as ResourceRequirements;
  parseResourceList(resources.limits);
  parseResourceList(resources.requests);
  return resources;
}

function asObject(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${where} must be an object`);
}

function inOrder<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
