import { compareResourceVersions } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';

/** The newer of what a watch has of the node and what was read of it; what is watched where they are not of one object, or cannot be compared. */
export function newerNode(watched: Node | undefined, fresh: Node | undefined): Node | undefined {
  if (watched === undefined || fresh === undefined || fresh.metadata.uid !== watched.metadata.uid) return watched;
  const [a = '', b = ''] = [watched, fresh].map(({ metadata }) => metadata.resourceVersion);
  return (compareResourceVersions(a, b) ?? 0) < 0 ? fresh : watched;
}
