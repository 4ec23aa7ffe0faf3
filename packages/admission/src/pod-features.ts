import type { RefusalReason } from '@node-agent/contracts';
import { hasPodLevelResources, isRestartableInit, type Pod, sameResources } from '@node-agent/pod-spec';
import { eventReasons } from '@node-agent/telemetry';

/** Features of the kubelet that pods may require. */
export interface PodFeaturesOptions {
  /** Feature gate PodLevelResources. Default: true. */
  readonly podLevelResources?: boolean;
  /**
   * Declared features of the node (KEP-5328). If absent, the node declares no features, and required features are not
   * checked.
   */
  readonly declared?: readonly string[];
}

/** A declared feature, with the pods or the pod changes that require it. */
interface DeclaredFeature {
  readonly feature: string;
  readonly needs?: (pod: Pod) => boolean;
  readonly changes?: (before: Pod, pod: Pod) => boolean;
}

/**
 * Declared features, sorted by name, which is the order in which missing features are reported
 * (`component-helpers/nodedeclaredfeatures/features`).
 */
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

/** Handler for pod features; compatible with `AdmitHandler` of kubelet-core. */
export interface PodFeaturesHandler {
  admit(pod: Pod): { readonly admit: true } | ({ readonly admit: false } & RefusalReason);
  /** Returns which undeclared features a pod change requires; `undefined` if none. */
  updated(before: Pod, pod: Pod): RefusalReason | undefined;
}

/**
 * Rejects pods that require features which are disabled on this kubelet (`pkg/kubelet/lifecycle/handlers.go`,
 * `features_linux.go`), and reports changes of existing pods that require them (`HandlePodUpdates` in
 * `pkg/kubelet/kubelet.go`).
 */
export function podFeaturesHandler({ podLevelResources = true, declared }: PodFeaturesOptions): PodFeaturesHandler {
  const missing = (
    reason: string,
    isAsked: (feature: DeclaredFeature) => boolean | undefined,
  ): RefusalReason | undefined => {
    if (declared === undefined) return undefined;
    const names = REQUIREMENTS.filter((one) => !declared.includes(one.feature) && isAsked(one));
    if (names.length === 0) return undefined;
    const missingNames = names.map(({ feature }) => feature).join(', ');
    return { reason, message: `Pod requires node features that are not available: ${missingNames}` };
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

/**
 * Returns whether an update resizes an init container. Sidecars do not count: every kubelet that supports resizes can
 * resize them.
 */
function resizesInitContainer(before: Pod, pod: Pod): boolean {
  return (before.spec.initContainers ?? []).some((container) => {
    if (isRestartableInit(container)) return false;
    const now = pod.spec.initContainers?.find(({ name }) => name === container.name);
    return now !== undefined && !sameResources(container.resources, now.resources);
  });
}
