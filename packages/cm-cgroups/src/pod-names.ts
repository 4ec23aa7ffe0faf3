import type { QosClass } from '@node-agent/pod-spec';
import { type CgroupName, childName } from './names.ts';

const POD_PREFIX = 'pod';

/** Returns the name of the cgroup that contains all pods, below the configured root. */
export function kubepodsName(root: CgroupName): CgroupName {
  return childName(root, 'kubepods');
}

/**
 * Returns the parent cgroup of the pods of each QoS class. Cgroups of Guaranteed pods have the same parent as the
 * cgroups of the two other classes.
 */
export function qosNames(kubepods: CgroupName): Readonly<Record<QosClass, CgroupName>> {
  return {
    Guaranteed: kubepods,
    Burstable: childName(kubepods, 'burstable'),
    BestEffort: childName(kubepods, 'besteffort'),
  };
}

/** Returns the name of a pod's cgroup. @throws CgroupError `InvalidName` if the UID is not valid in a cgroup name */
export function podName(parent: CgroupName, podUid: string): CgroupName {
  return childName(parent, `${POD_PREFIX}${podUid}`);
}

/** Returns the pod UID from the last part of a cgroup's name; `undefined` if it is not a pod's cgroup. */
export function podUidOf(part: string): string | undefined {
  return part.startsWith(POD_PREFIX) && part.length > POD_PREFIX.length ? part.slice(POD_PREFIX.length) : undefined;
}
