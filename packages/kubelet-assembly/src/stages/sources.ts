import { noteConditions, PodJournal, StartupLatency } from '@node-agent/kubelet-core';
import { PodConfig } from '@node-agent/pod-config';
import { PodManager } from '@node-agent/pod-manager';
import { StatusManager } from '@node-agent/status';
import type { ClusterObjects } from '../cluster-objects.ts';
import { nodeProber } from '../node-prober.ts';
import type { AssemblyBase } from './base.ts';

/**
 * Output of stage 1 of the assembly: the pods that the sources desire, their statuses, and the objects that pods refer
 * to.
 */
export interface SourcesStage {
  readonly journal: PodJournal;
  readonly podManager: PodManager;
  readonly podConfig: PodConfig;
  readonly status: StatusManager;
  readonly prober: ReturnType<typeof nodeProber>;
  readonly startup: StartupLatency;
  /** Secrets, ConfigMaps, tokens and similar objects. `undefined` if the node has no API server. */
  readonly objects: ClusterObjects | undefined;
}

export function assembleSources({ ports, settings, child, late, pods }: AssemblyBase): SourcesStage {
  const { clock, metrics, cluster, onPodCountChanged } = ports;
  const { restartFeatures } = settings;
  const journal = new PodJournal({ clock });
  const podManager = new PodManager({ ...(onPodCountChanged && { onCountChanged: onPodCountChanged }) });
  const podConfig = new PodConfig(child('pod-config'));
  const status = new StatusManager({
    ...child('status'),
    onChange(change) {
      noteConditions(journal, change.pod, change.status);
      late.clusterNode.value?.statusWriter.statusChanged(change);
      late.prober.value.statusChanged(change.pod.metadata.uid);
    },
    getMirrorPodByPod: (pod) => podManager.getMirrorPodByPod(pod),
    ...(restartFeatures && { restartFeatures }),
  });
  const objects = cluster?.objects(child, settings, {
    nodeAnnotations: () => late.clusterNode.value?.node?.metadata.annotations,
    // After a change, the pod's volumes are refreshed. A pod that waits for a Secret in its environment is synced
    // before its back-off ends.
    onChange(uids) {
      for (const uid of uids) {
        late.volumes.value.refresh(uid);
        pods.wake(uid);
      }
    },
  });
  return {
    journal,
    podManager,
    podConfig,
    status,
    prober: late.prober.set(nodeProber(child, ports, settings, status)),
    startup: new StartupLatency({ clock, metrics }),
    objects,
  };
}
