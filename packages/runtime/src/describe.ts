import { findContainer, type Pod } from '@node-agent/pod-spec';
import type { ObjectReference } from '@node-agent/telemetry';

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
  const fieldPath = findContainer(pod, containerName)?.fieldPath ?? `implicitly required container ${containerName}`;
  return { ...podReference(pod), fieldPath };
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
