import { hasPodLevelResources, type Pod } from '@node-agent/pod-spec';
import type { Refusal } from './predicates.ts';

/** What decides about what pods ask of the kubelet itself. */
export interface PodFeaturesOptions {
  /** Gate PodLevelResources; true by default. */
  readonly podLevelResources?: boolean;
  /** The features that the node declares (KEP-5328); absent where it declares none, and nothing is asked for. */
  readonly declared?: readonly string[];
}

/** What of a pod takes a kubelet that declares it, by the name of the feature (`component-helpers/nodedeclaredfeatures/features`). */
const REQUIREMENTS: readonly { readonly feature: string; readonly needs: (pod: Pod) => boolean }[] = [
  { feature: 'RestartAllContainersOnContainerExits', needs: mayRestartAll },
  {
    feature: 'UserNamespacesHostNetworkSupport',
    needs: ({ spec }) => spec.hostNetwork === true && spec.hostUsers === false,
  },
];

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface PodFeaturesHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & Refusal);
}

/** Refuses pods that ask for what this kubelet is set not to do (`pkg/kubelet/lifecycle/handlers.go`, `features_linux.go`). */
export function podFeaturesHandler({ podLevelResources = true, declared }: PodFeaturesOptions): PodFeaturesHandler {
  return {
    admit(pod) {
      if (!podLevelResources && hasPodLevelResources(pod)) {
        const message = 'PodLevelResources feature gate is disabled';
        return { admit: false, reason: 'PodLevelResourcesNotSupported', message };
      }
      if (declared === undefined) return { admit: true };
      const missing = REQUIREMENTS.filter(({ feature, needs }) => !declared.includes(feature) && needs(pod));
      if (missing.length === 0) return { admit: true };
      const names = missing.map(({ feature }) => feature).join(', ');
      const message = `Pod requires node features that are not available: ${names}`;
      return { admit: false, reason: 'PodFeatureUnsupported', message };
    },
  };
}

function mayRestartAll({ spec }: Pod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}
