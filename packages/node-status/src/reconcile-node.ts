import { isExtendedResource, isHugePageResource, parseQuantity, Quantity } from '@node-agent/pod-spec';
import { reconcileAttachAnnotation, reconcileLabels } from './initial-node.ts';
import { type Node, withStatus } from './node.ts';

type Resources = Readonly<Record<string, string>>;

/**
 * Adapts an existing node before its first status (`kubelet_node_status.go`, tryRegisterWithAPIServer): sets the
 * attach/detach annotation, the default labels, huge pages and extended resources. Other fields are kept.
 *
 * @param initial the node that would have been created
 * @param resetExtendedResources whether the machine was rebuilt, so that resources of device plugins are not available
 * yet
 */
export function reconcileNode(initial: Node, existing: Node, resetExtendedResources: boolean): Node {
  const annotated = reconcileAttachAnnotation(initial, existing);
  const labelled = reconcileLabels(initial, annotated);
  const extended = reconcileExtendedResources(initial, labelled, resetExtendedResources);
  return reconcileHugePages(initial, extended);
}

/** If `reset` is set, sets extended resources to 0 until their device plugins have registered. */
function reconcileExtendedResources(initial: Node, existing: Node, reset: boolean): Node {
  const { capacity, allocatable } = resourcesOf(initial, existing);
  if (!reset) return withStatus(existing, { capacity, allocatable });
  const zeros = Object.fromEntries(
    Object.keys(capacity)
      .filter(isExtendedResource)
      .map((name) => [name, Quantity.zero.toString()]),
  );
  return withStatus(existing, { capacity: { ...capacity, ...zeros }, allocatable: { ...allocatable, ...zeros } });
}

/** Replaces the amounts of huge pages by the machine's; sizes that the machine no longer has are removed. */
function reconcileHugePages(initial: Node, existing: Node): Node {
  const { capacity, allocatable } = resourcesOf(initial, existing);
  const supported = Object.keys(initial.status?.capacity ?? {}).filter(isHugePageResource);
  const take = (own: Resources, machine: Resources = {}): Resources => ({
    ...Object.fromEntries(Object.entries(own).filter(([name]) => !isHugePageResource(name))),
    ...Object.fromEntries(supported.map((name) => [name, sameOr(own[name], machine[name] ?? '0')])),
  });
  return withStatus(existing, {
    capacity: take(capacity, initial.status?.capacity),
    allocatable: take(allocatable, initial.status?.allocatable),
  });
}

/** Returns the quantity `wanted`, or `own` if both are equal amounts, so that another notation is not a change. */
function sameOr(own: string | undefined, wanted: string): string {
  return own !== undefined && parseQuantity(own).equals(parseQuantity(wanted)) ? own : wanted;
}

function resourcesOf(initial: Node, existing: Node): { readonly capacity: Resources; readonly allocatable: Resources } {
  return {
    capacity: existing.status?.capacity ?? initial.status?.capacity ?? {},
    allocatable: existing.status?.allocatable ?? initial.status?.allocatable ?? {},
  };
}
