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
  const bytes = Buffer.alloc(32);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE(Math.floor(random.next() * 2 ** 32), at);
  return bytes.toString('hex');
}

/** Returns the record with this id, or with this unambiguous id prefix. */
export function findById<T>(records: ReadonlyMap<string, T>, id: string): T | undefined {
  const exact = records.get(id);
  if (exact !== undefined || id === '') return exact;
  const matches = [...records.keys()].filter((candidate) => candidate.startsWith(id));
  const [only] = matches;
  return matches.length === 1 && only !== undefined ? records.get(only) : undefined;
}
