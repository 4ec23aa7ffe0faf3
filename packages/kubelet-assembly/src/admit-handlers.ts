import {
  appArmorHandler,
  type Preemption,
  podFeaturesHandler,
  predicateHandler,
  sysctlHandler,
} from '@node-agent/admission';
import type { EvictionManager } from '@node-agent/eviction';
import { type AdmitHandler, type PodFeatures, unsupportedFeatureHandler } from '@node-agent/kubelet-core';
import type { NodeShutdownManager } from '@node-agent/node-shutdown';
import type { Pod } from '@node-agent/pod-spec';
import type { VolumeManager } from '@node-agent/volumes';
import { shutdownHandler } from './node-shutdown.ts';
import type { NodeView } from './node-view.ts';
import type { AssemblySettings } from './ports.ts';

/** Pod features that every kubelet supports. */
const FEATURES = { probes: true, lifecycleHooks: true } satisfies Partial<PodFeatures>;

/** Components that the admit handlers use. */
interface AdmissionParts {
  readonly volumes: Pick<VolumeManager, 'unsupported'>;
  readonly node: Pick<NodeView, 'forAdmission' | 'refresh'>;
  /**
   * Allocates devices, exclusive CPUs and memory to pods. `undefined` if the node has no devices. Device requests are
   * then treated like requests for cluster-level extended resources.
   */
  readonly devices?: AdmitHandler | undefined;
  /** The manager of ResourceClaims. `undefined` if there is none; then pods with claims are rejected. */
  readonly claims?: object | undefined;
  readonly preemption: Pick<Preemption, 'makeRoom'>;
  /** Rejects some pods while the node is under pressure. `undefined` if pods are never evicted. */
  readonly eviction?: Pick<EvictionManager, 'admit'> | undefined;
  /** Rejects all pods during the machine's shutdown. `undefined` if the shutdown does not wait for pods. */
  readonly shutdown?: Pick<NodeShutdownManager, 'admit'> | undefined;
}

/** Returns the admit handlers, in the order in which they are called. */
export function nodeAdmitHandlers(
  {
    admission,
    admitHandlers = [],
    userNamespaces,
    resourceClaims,
  }: Pick<AssemblySettings, 'admission' | 'admitHandlers' | 'userNamespaces' | 'resourceClaims'>,
  { volumes, node, devices, claims, preemption, eviction, shutdown }: AdmissionParts,
): readonly AdmitHandler[] {
  return [
    // The shutdown handler comes first, so that no look-up and no preemption happens for a pod that is rejected anyway.
    ...(shutdown ? [shutdownHandler(shutdown)] : []),
    // Under pressure, a resize is deferred by the same rule by which a new pod is rejected.
    ...(eviction ? [{ admit: (pod: Pod) => eviction.admit(pod), resize: (pod: Pod) => eviction.admit(pod) }] : []),
    unsupportedFeatureHandler({
      ...FEATURES,
      userNamespaces: userNamespaces !== undefined,
      resourceClaims: claims !== undefined,
    }),
    unsupportedVolumes(volumes),
    sysctlHandler(admission?.sysctls ?? { kernelRelease: '', allowedUnsafe: [] }),
    // Devices are allocated before the predicates run, because the predicates use the allocated devices.
    ...(devices ? [devices] : []),
    predicateHandler(
      { node: (pod) => node.forAdmission(pod), refresh: (signal) => node.refresh(signal), preemption },
      { ...admission, extendedResourceClaims: resourceClaims?.extendedResources ?? true },
    ),
    appArmorHandler({ enabled: admission?.appArmor ?? true }),
    podFeaturesHandler(admission?.features ?? {}),
    ...admitHandlers,
    // The shutdown handler is called a second time at the end. A device plugin or a preemption may take long, and a
    // shutdown may start in the meantime (N9).
    ...(shutdown ? [{ admit: () => shutdown.admit() }] : []),
  ];
}

function unsupportedVolumes(volumes: Pick<VolumeManager, 'unsupported'>): AdmitHandler {
  return {
    admit(pod) {
      const faults = volumes.unsupported(pod);
      if (faults.length === 0) return { admit: true };
      return { admit: false, reason: 'UnsupportedFeature', message: faults.join('; ') };
    },
  };
}
