import type { Random } from '@node-agent/async';
import type { ContainerMetadata, PodSandboxMetadata } from '@node-agent/cri-client';

/**
 * Returns the name that a sandbox reserves. While the sandbox exists, no second sandbox of the same pod and attempt can
 * be created.
 */
export function sandboxName(pod: PodSandboxMetadata): string {
  return [pod.name, pod.namespace, pod.uid, pod.attempt].join('_');
}

/**
 * Returns the name that a container reserves. While the container exists, no second container with the same pod, name
 * and attempt can be created.
 */
export function containerName(container: ContainerMetadata, pod: PodSandboxMetadata): string {
  return [container.name, pod.name, pod.namespace, pod.uid, container.attempt].join('_');
}

/** Returns an id of 64 hexadecimal digits. */
export function newId(random: Random): string {
  let id = '';
  while (id.length < 64) {
    id += Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return id;
}

/** Returns the record with this id, or with this unambiguous id prefix. */
export function findById<T>(records: ReadonlyMap<string, T>, id: string): T | undefined {
  const exact = records.get(id);
  if (exact !== undefined || id === '') return exact;
  const matches = [...records.keys()].filter((candidate) => candidate.startsWith(id));
  const [only] = matches;
  return matches.length === 1 && only !== undefined ? records.get(only) : undefined;
}
