import type { QosClass } from '@node-agent/pod-spec';
import { type CgroupName, childName } from './names.ts';

const POD_PREFIX = 'pod';

/** The group that all pods are in, below the configured root. */
export function kubepodsName(root: CgroupName): CgroupName {
  return childName(root, 'kubepods');
}

/** The group that pods of each class are in: those of Guaranteed pods are beside the two others. */
export function qosNames(kubepods: CgroupName): Readonly<Record<QosClass, CgroupName>> {
  return {
    Guaranteed: kubepods,
    Burstable: childName(kubepods, 'burstable'),
    BestEffort: childName(kubepods, 'besteffort'),
  };
}

/** @throws CgroupError `InvalidName` for a UID that is no part of a group's name */
export function podName(parent: CgroupName, podUid: string): CgroupName {
  return childName(parent, `${POD_PREFIX}${podUid}`);
}

/** The UID of the pod whose group this is, by the last part of its name; `undefined` where it is no pod's. */
export function podUidOf(part: string): string | undefined {
  return part.startsWith(POD_PREFIX) && part.length > POD_PREFIX.length ? part.slice(POD_PREFIX.length) : undefined;
}
