import type { Pod, ResourceRequirements } from './api.ts';
import type { Quantity } from './quantity.ts';
import { addResources, parseResourceList, type ResourceList, type ResourceListJson } from './resource-list.ts';

/** Quality of service class of a pod, by which the node orders pods when memory is short. */
export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** Resources that determine the class. */
const QOS_RESOURCES = ['cpu', 'memory'] as const;

/**
 * Computes a pod's QoS class from its pod-level resources if it has any (KEP-2837), otherwise from its main and init
 * containers (`pkg/apis/core/v1/helper/qos/qos.go`).
 */
export function qosClass(pod: Pick<Pod, 'spec'>): QosClass {
  const { resources, containers, initContainers = [] } = pod.spec;
  const parts: readonly (ResourceRequirements | undefined)[] =
    resources === undefined ? [...containers, ...initContainers].map((container) => container.resources) : [resources];

  const requests = addResources(...parts.map((part) => positive(part?.requests)));
  const limits = addResources(...parts.map((part) => positive(part?.limits)));
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';

  const limited = parts.every((part) => positive(part?.limits).size === QOS_RESOURCES.length);
  const equal = QOS_RESOURCES.every((name) => sameQuantity(requests.get(name), limits.get(name)));
  return limited && equal ? 'Guaranteed' : 'Burstable';
}

/** Returns the non-zero amounts of the deciding resources; an amount of zero counts as absent. */
function positive(list: ResourceListJson | undefined): ResourceList {
  const parsed = parseResourceList(list);
  return new Map(
    QOS_RESOURCES.flatMap((name) => {
      const quantity = parsed.get(name);
      return quantity !== undefined && quantity.nanos > 0n ? [[name, quantity] as const] : [];
    }),
  );
}

function sameQuantity(a: Quantity | undefined, b: Quantity | undefined): boolean {
  return a !== undefined && b !== undefined && a.equals(b);
}

/** Returns the QoS class from the pod's status, which never changes; if absent, computes it from the spec. */
export function podQosClass(pod: Pick<Pod, 'spec' | 'status'>): QosClass {
  const given = pod.status?.qosClass;
  return given === 'Guaranteed' || given === 'Burstable' || given === 'BestEffort' ? given : qosClass(pod);
}
