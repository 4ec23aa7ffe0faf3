import type { RuntimePodStatus } from '@node-agent/pod-spec';
import type { ClusterNode } from '../cluster-node.ts';
import type { NodeState } from '../node-state.ts';
import type { AssemblyBase } from './base.ts';
import type { RuntimeStage } from './runtime.ts';
import type { SourcesStage } from './sources.ts';

/**
 * Stage 4 of the assembly: creates the node as an object of its cluster. Returns `undefined` if the node has no API
 * server.
 */
export function assembleCluster(
  { ports, settings, child, late, pods }: AssemblyBase,
  { journal, status, podManager, podConfig, objects }: SourcesStage,
  { facts, devices, claims, volumes, csi, podCidr, containers }: RuntimeStage,
  state: NodeState,
): ClusterNode | undefined {
  return late.clusterNode.set(
    ports.cluster?.node(child, settings, {
      ...{ journal, devices, volumes },
      statuses: status,
      pods: podManager,
      runtime: facts,
      kubelet: () => late.kubelet.value,
      state,
      onPodCidr: (cidr, signal) => podCidr.update(cidr, signal),
      onServerHeard: () => objects?.clusterServices.retryNow(),
      onStoreLost() {
        objects?.listAnew();
        csi?.nodeInfo.writeAnew();
      },
      safety: {
        // A pod also counts as running while it holds claims. Once the pod is shown as terminated, its devices may be
        // allocated to other pods, so its claims must be unprepared first.
        couldHaveRunningContainers: (uid) =>
          pods.couldHaveRunningContainers(uid) || (claims?.holdsClaims(uid, podManager.getPodByUid(uid)) ?? false),
        podResourcesAreReclaimed: (uid) => nothingLeft(containers.podCache.get(uid)?.status),
      },
      mirrors: {
        isTerminating: (fullName, next) => pods.isPodForMirrorPodTerminatingByFullName(fullName, next),
        sourcesReady: () => podConfig.seenAllSources(),
      },
    }),
  );
}

/**
 * Reports whether no container of a pod may still run and none of its sandboxes is ready (S5). Volumes need no check:
 * the pod worker reports a pod as finished only after the pod's volumes are unmounted.
 */
function nothingLeft(status: RuntimePodStatus | undefined): boolean {
  if (status === undefined) return true;
  return !status.sandboxes.some(({ state }) => state === 'ready') && !status.containers.some(mayStillRun);
}

function mayStillRun({ state }: RuntimePodStatus['containers'][number]): boolean {
  return state === 'running' || state === 'unknown';
}
