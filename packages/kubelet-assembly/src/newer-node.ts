import { compareResourceVersions } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';

/**
 * Returns the newer of two Node objects: one from the watch and one from a read. Returns the watched object if the two
 * have different UIDs or their versions cannot be compared.
 */
export function newerNode(watched: Node | undefined, fresh: Node | undefined): Node | undefined {
  if (watched === undefined || fresh === undefined || fresh.metadata.uid !== watched.metadata.uid) return watched;
  const [a = '', b = ''] = [watched, fresh].map(({ metadata }) => metadata.resourceVersion);
  return (compareResourceVersions(a, b) ?? 0) < 0 ? fresh : watched;
}
