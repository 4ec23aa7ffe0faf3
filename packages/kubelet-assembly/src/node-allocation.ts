import { AllocationManager } from '@node-agent/allocation';
import type { AdmitHandler, Kubelet } from '@node-agent/kubelet-core';
import type { PodConfig } from '@node-agent/pod-config';
import type { PodManager } from '@node-agent/pod-manager';
import type { AppliedResources } from '@node-agent/runtime';
import type { PartComponents } from './cluster-ports.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeAllocation} needs besides ports and settings. */
export interface AllocationParts {
  readonly podManager: Pick<PodManager, 'getPodByUid'>;
  readonly podConfig: Pick<PodConfig, 'seenAllSources'>;
  /** Returns the admit handlers, which a later stage creates. */
  readonly admitHandlers: () => readonly AdmitHandler[];
  /** Returns the kubelet, which a later stage creates. */
  readonly kubelet: () => Pick<Kubelet, 'activePods' | 'applicants' | 'syncPods'>;
}

/** Creates the manager of pods' allocated resources and pending resizes. */
export function nodeAllocation(
  child: (component: string) => PartComponents,
  { fs }: Pick<NodePorts, 'fs'>,
  { rootDirectory, resize = {} }: Pick<AssemblySettings, 'rootDirectory' | 'resize'>,
  { podManager, podConfig, admitHandlers, kubelet }: AllocationParts,
): AllocationManager {
  return new AllocationManager(
    {
      ...child('allocation'),
      fs,
      pods: {
        active: () => kubelet().activePods(),
        applicants: () => kubelet().applicants(),
        byUid: (uid) => podManager.getPodByUid(uid),
        sourcesReady: () => podConfig.seenAllSources(),
      },
      onDecided: (uids) => kubelet().syncPods(uids),
      admit(pod, others) {
        for (const handler of admitHandlers()) {
          const verdict = handler.resize?.(pod, others) ?? { admit: true };
          if (!verdict.admit) return verdict;
        }
        return { admit: true };
      },
    },
    { directory: rootDirectory, node: resize },
  );
}

/** Adapts the allocation manager to the port through which the runtime reads and reports applied resources. */
export function appliedResources(allocation: AllocationManager): AppliedResources {
  return {
    appliedToContainer: (uid, name) => allocation.appliedToContainer(uid, name),
    appliedToPod: (uid) => allocation.appliedToPod(uid),
    containerApplied: (uid, name, resources) => allocation.containerApplied(uid, name, resources),
    podApplied: (uid, resources) => allocation.podApplied(uid, resources),
  };
}
