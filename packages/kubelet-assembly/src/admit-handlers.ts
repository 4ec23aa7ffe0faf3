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

/** What each kubelet does for pods beside running their containers. */
const FEATURES: Omit<PodFeatures, 'userNamespaces'> = { probes: true, lifecycleHooks: true, resourceClaims: false };

/** Whom the handlers ask. */
interface AdmissionParts {
  readonly volumes: Pick<VolumeManager, 'unsupported'>;
  readonly node: Pick<NodeView, 'forAdmission' | 'refresh'>;
  /** Absent where the node has none: pods that ask for some are as those that ask for what the cluster has. */
  readonly devices?: AdmitHandler | undefined;
  readonly preemption: Pick<Preemption, 'makeRoom'>;
  /** Where pods are evicted: under pressure not every pod may begin. */
  readonly eviction?: Pick<EvictionManager, 'admit'> | undefined;
  /** Where the machine's shutdown waits for pods: none begins meanwhile. */
  readonly shutdown?: Pick<NodeShutdownManager, 'admit'> | undefined;
}

/** Who is asked whether a pod may run here, in this order. */
export function nodeAdmitHandlers(
  {
    admission,
    admitHandlers = [],
    userNamespaces,
  }: Pick<AssemblySettings, 'admission' | 'admitHandlers' | 'userNamespaces'>,
  { volumes, node, devices, preemption, eviction, shutdown }: AdmissionParts,
): readonly AdmitHandler[] {
  return [
    // First: nothing is looked for, nor is any pod ended, for one that may not run anyway.
    ...(shutdown ? [shutdownHandler(shutdown)] : []),
    // A resize waits for the end of the pressure as a new pod would.
    ...(eviction ? [{ admit: (pod: Pod) => eviction.admit(pod), resize: (pod: Pod) => eviction.admit(pod) }] : []),
    unsupportedFeatureHandler({ ...FEATURES, userNamespaces: userNamespaces !== undefined }),
    unsupportedVolumes(volumes),
    sysctlHandler(admission?.sysctls ?? { kernelRelease: '', allowedUnsafe: [] }),
    // In front of the predicates, as what it gives a pod counts there.
    ...(devices ? [devices] : []),
    predicateHandler(
      { node: (pod) => node.forAdmission(pod), refresh: (signal) => node.refresh(signal), preemption },
      admission,
    ),
    appArmorHandler({ enabled: admission?.appArmor ?? true }),
    podFeaturesHandler(admission?.features ?? {}),
    ...admitHandlers,
    // Last, too: a device plugin, or the end of those that make room, may be waited for, and the machine shut down meanwhile (N9).
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
