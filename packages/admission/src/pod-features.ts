import type { RefusalReason } from '@node-agent/contracts';
import { hasPodLevelResources, isRestartableInit, type Pod, sameResources } from '@node-agent/pod-spec';
import { eventReasons } from '@node-agent/telemetry';

/** What decides about what pods ask of the kubelet itself. */
export interface PodFeaturesOptions {
  /** Gate PodLevelResources; true by default. */
  readonly podLevelResources?: boolean;
  /** The features that the node declares (KEP-5328); absent where it declares none, and nothing is asked for. */
  readonly declared?: readonly string[];
}

/** What takes a kubelet that declares it: a pod as it comes, or a change of one that is there. */
interface DeclaredFeature {
  readonly feature: string;
  readonly needs?: (pod: Pod) => boolean;
  readonly changes?: (before: Pod, pod: Pod) => boolean;
}

/** By name, as they are told (`component-helpers/nodedeclaredfeatures/features`). */
const REQUIREMENTS: readonly DeclaredFeature[] = [
  {
    feature: 'InPlacePodLevelResourcesVerticalScaling',
    changes: (before, pod) => !sameResources(before.spec.resources, pod.spec.resources),
  },
  { feature: 'InPlacePodVerticalScalingInitContainers', changes: resizesInitContainer },
  { feature: 'RestartAllContainersOnContainerExits', needs: mayRestartAll },
  {
    feature: 'UserNamespacesHostNetworkSupport',
    needs: ({ spec }) => spec.hostNetwork === true && spec.hostUsers === false,
  },
];

/** The handler's own shape: it is an `AdmitHandler` of kubelet-core. */
export interface PodFeaturesHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & RefusalReason);
  /** What a change of a pod takes that the node does not declare; `undefined` where it takes nothing else. */
  updated(before: Pod, pod: Pod): RefusalReason | undefined;
}

/**
 * Refuses pods that ask for what this kubelet is set not to do (`pkg/kubelet/lifecycle/handlers.go`, `features_linux.go`), and says so of
 * changes of those that are there (`HandlePodUpdates` in `pkg/kubelet/kubelet.go`).
 */
export function podFeaturesHandler({ podLevelResources = true, declared }: PodFeaturesOptions): PodFeaturesHandler {
  const missing = (
    reason: string,
    isAsked: (feature: DeclaredFeature) => boolean | undefined,
  ): RefusalReason | undefined => {
    if (declared === undefined) return undefined;
    const names = REQUIREMENTS.filter((one) => !declared.includes(one.feature) && isAsked(one));
    if (names.length === 0) return undefined;
    const told = names.map(({ feature }) => feature).join(', ');
    return { reason, message: `Pod requires node features that are not available: ${told}` };
  };
  return {
    admit(pod) {
      if (!podLevelResources && hasPodLevelResources(pod)) {
        const message = 'PodLevelResources feature gate is disabled';
        return { admit: false, reason: 'PodLevelResourcesNotSupported', message };
      }
      const refusal = missing('PodFeatureUnsupported', ({ needs }) => needs?.(pod));
      return refusal === undefined ? { admit: true } : { admit: false, ...refusal };
    },
    updated: (before, pod) =>
      missing(eventReasons.failedNodeDeclaredFeaturesCheck, ({ changes }) => changes?.(before, pod)),
  };
}

function mayRestartAll({ spec }: Pod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}

/** Sidecars may be resized by every kubelet that resizes. */
function resizesInitContainer(before: Pod, pod: Pod): boolean {
  return (before.spec.initContainers ?? []).some((container) => {
    if (isRestartableInit(container)) return false;
    const now = pod.spec.initContainers?.find(({ name }) => name === container.name);
    return now !== undefined && !sameResources(container.resources, now.resources);
  });
}
