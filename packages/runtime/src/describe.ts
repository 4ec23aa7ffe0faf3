import type { Container, Pod } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';
import type { ContainerType } from './config/context.ts';

/** A pod for people: `name_namespace(uid)` (`pkg/kubelet/util/format`). */
export function podText({ metadata: { name, namespace, uid } }: Pick<Pod, 'metadata'>): string {
  return `${name}_${namespace}(${uid})`;
}

/** What events about a pod refer to. */
export function podReference({ metadata: { name, namespace, uid } }: Pick<Pod, 'metadata'>): ObjectReference {
  return { kind: 'Pod', apiVersion: 'v1', namespace, name, uid };
}

/** What events about a container refer to: its pod, and where in it the container is. */
export function containerReference(pod: Pod, containerName: string): ObjectReference {
  const type = findContainer(pod, containerName)?.type;
  const field = type === undefined ? 'implicitly required container ' : `spec.${specField[type]}`;
  const fieldPath = type === undefined ? `${field}${containerName}` : `${field}{${containerName}}`;
  return { ...podReference(pod), fieldPath };
}

/** A container of a pod by its name, and in which of the three lists it is. */
export function findContainer(
  pod: Pod,
  name: string,
): { readonly container: Container; readonly type: ContainerType } | undefined {
  for (const [type, containers] of [
    ['container', pod.spec.containers],
    ['initContainer', pod.spec.initContainers ?? []],
    ['ephemeralContainer', pod.spec.ephemeralContainers ?? []],
  ] as const) {
    const container = (containers as readonly Container[]).find((candidate) => candidate.name === name);
    if (container !== undefined) return { container, type };
  }
  return undefined;
}

/** A duration as Go words it: `10s`, `1m20s`, `5m0s`, `500ms`. */
export function goDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const seconds = Math.floor(ms / 1000) % 60;
  const minutes = Math.floor(ms / 60_000) % 60;
  const hours = Math.floor(ms / 3_600_000);
  const fraction =
    ms % 1000 === 0
      ? ''
      : `.${String(Math.floor(ms % 1000))
          .padStart(3, '0')
          .replace(/0+$/, '')}`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}${fraction}s`;
  return minutes > 0 ? `${minutes}m${seconds}${fraction}s` : `${seconds}${fraction}s`;
}

const specField = {
  container: 'containers',
  initContainer: 'initContainers',
  ephemeralContainer: 'ephemeralContainers',
} as const;
