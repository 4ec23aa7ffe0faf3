import { DraManager } from '@node-agent/dra';
import type { PodJournalPort } from '@node-agent/kubelet-core';
import type { PodConfig } from '@node-agent/pod-config';
import type { Pod } from '@node-agent/pod-spec';
import type { ClusterObjects } from './cluster-objects.ts';
import type { PartComponents } from './cluster-ports.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeClaims} needs besides ports and settings. */
export interface ClaimParts {
  readonly pods: PodLinks;
  readonly podConfig: Pick<PodConfig, 'seenAllSources'>;
  readonly journal: PodJournalPort;
  /**
   * Returns the pods that keep their resources: active pods, and pods in admission, which may have resources from before
   * a restart of the kubelet.
   */
  readonly keptPods: () => readonly Pod[];
  /** Reads ResourceClaims and deletes ResourceSlices. `undefined` if there is no API server. */
  readonly objects: Pick<ClusterObjects, 'resourceClaims' | 'resourceSlices'> | undefined;
  /** Called when the claims of a pod that is no longer active have been unprepared. */
  readonly onUnprepared: (podUid: string) => void;
}

/**
 * Creates the manager of ResourceClaims. Returns `undefined` if the feature is not configured, or if there is no API
 * server to read claims from.
 */
export function nodeClaims(
  child: (component: string) => PartComponents,
  { fs, deviceTransport }: Pick<NodePorts, 'fs' | 'deviceTransport'>,
  { rootDirectory, resourceClaims }: Pick<AssemblySettings, 'rootDirectory' | 'resourceClaims'>,
  { pods, podConfig, journal, keptPods, objects, onUnprepared }: ClaimParts,
): DraManager | undefined {
  if (resourceClaims === undefined || objects === undefined) return undefined;
  return new DraManager(
    {
      ...child('dra'),
      fs,
      claims: objects.resourceClaims,
      slices: objects.resourceSlices,
      pods: {
        active: keptPods,
        mayRun: (uid) => pods.couldHaveRunningContainers(uid),
        sourcesReady: () => podConfig.seenAllSources(),
      },
      ...(deviceTransport && { transport: deviceTransport }),
      noted({ podUid, step, what }, work, signal) {
        const detail = what === undefined ? {} : { message: what };
        return journal.during(podUid, step === 'prepare' ? 'PrepareClaims' : 'UnprepareClaims', detail, work, signal);
      },
      onHealthChanged(uids) {
        for (const uid of uids) pods.wake(uid);
      },
      onUnprepared,
    },
    { directory: rootDirectory, ...resourceClaims },
  );
}
