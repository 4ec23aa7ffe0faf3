import type { AdmitHandler } from '@node-agent/kubelet-core';
import { NodeShutdownManager } from '@node-agent/node-shutdown';
import type { Pod } from '@node-agent/pod-spec';
import type { VolumeManager } from '@node-agent/volumes';
import type { PartComponents } from './cluster-ports.ts';
import { nodeReference } from './node-reference.ts';
import type { PodLinks } from './pod-links.ts';
import type { AssemblySettings, NodePorts } from './ports.ts';

/** Components of the node that {@link nodeShutdown} needs besides ports and settings. */
interface ShutdownParts {
  readonly pods: Pick<PodLinks, 'killPodNow'>;
  readonly activePods: () => readonly Pod[];
  readonly volumes: Pick<VolumeManager, 'podVolumesExist'>;
  readonly onShutdownChanged: () => void;
}

/**
 * Creates the manager that delays the machine's shutdown. Returns `undefined` if graceful shutdown is not configured or
 * not supported.
 */
export function nodeShutdown(
  child: (component: string) => PartComponents,
  { fs, shutdown: ports }: Pick<NodePorts, 'fs' | 'shutdown'>,
  { shutdown, nodeName, rootDirectory }: Pick<AssemblySettings, 'shutdown' | 'nodeName' | 'rootDirectory'>,
  { pods, activePods, volumes, onShutdownChanged }: ShutdownParts,
): NodeShutdownManager | undefined {
  if (shutdown === undefined || ports === undefined) return undefined;
  const { gracePeriods, keepTimes = true } = shutdown;
  return new NodeShutdownManager(
    {
      ...child('node-shutdown'),
      ...ports,
      fs,
      pods: {
        active: activePods,
        kill: (pod, { statusFn, gracePeriodSeconds }, signal) =>
          pods.killPodNow(pod, { podStatusFn: statusFn, gracePeriodSecondsOverride: gracePeriodSeconds }, signal),
      },
      volumes,
      onShutdownChanged,
    },
    { nodeRef: nodeReference(nodeName), gracePeriods, ...(keepTimes && { stateDirectory: rootDirectory }) },
  );
}

/** Returns the admit handler that rejects new pods and resizes while the node shuts down. */
export function shutdownHandler(manager: Pick<NodeShutdownManager, 'admit'>): AdmitHandler {
  return { admit: () => manager.admit(), resize: () => manager.admit() };
}
