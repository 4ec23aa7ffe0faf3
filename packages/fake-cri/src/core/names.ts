import type { Random } from '@node-agent/async';
import type { ContainerMetadata, PodSandboxMetadata } from '@node-agent/cri-client';

/** The name that a sandbox reserves: no second one of this pod and attempt can be made while it exists. */
export function sandboxName(pod: PodSandboxMetadata): string {
  return [pod.name, pod.namespace, pod.uid, pod.attempt].join('_');
}

/** The name that a container reserves: no second one of this pod, name and attempt can be made while it exists. */
export function containerName(container: ContainerMetadata, pod: PodSandboxMetadata): string {
  return [container.name, pod.name, pod.namespace, pod.uid, container.attempt].join('_');
}

/** An id of 64 hexadecimal digits. */
export function newId(random: Random): string {
  let id = '';
  while (id.length < 64) {
    id += Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return id;
}

/** What `id` names among `records`: the whole id, or a prefix that fits only one. */
export function findById<T>(records: ReadonlyMap<string, T>, id: string): T | undefined {
  const exact = records.get(id);
  if (exact !== undefined || id === '') return exact;
  const matches = [...records.keys()].filter((candidate) => candidate.startsWith(id));
  const [only] = matches;
  return matches.length === 1 && only !== undefined ? records.get(only) : undefined;
}
