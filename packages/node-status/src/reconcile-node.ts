import { isExtendedResource, isHugePageResource, parseQuantity, Quantity } from '@node-agent/pod-spec';
import { reconcileAttachAnnotation, reconcileLabels } from './initial-node.ts';
import { type Node, withStatus } from './node.ts';

type Resources = Readonly<Record<string, string>>;

/**
 * A node that is there already, as this kubelet wants it before its first status (`kubelet_node_status.go`,
 * tryRegisterWithAPIServer): annotation, default labels, resources of huge pages, extended resources. All else is kept.
 *
 * @param initial the node that would have been created
 * @param resetExtendedResources whether the machine was made anew, so that no device plugin's resource is there yet
 */
export function reconcileNode(initial: Node, existing: Node, resetExtendedResources: boolean): Node {
  const annotated = reconcileAttachAnnotation(initial, existing);
  const labelled = reconcileLabels(initial, annotated);
  const extended = reconcileExtendedResources(initial, labelled, resetExtendedResources);
  return reconcileHugePages(initial, extended);
}

/** Sets extended resources to 0 where they are to be reset, until their device plugins are back. */
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

/** Takes over the machine's sizes of huge pages; those that it does not have any more go. */
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

/** `own` where it is the same amount, so that another way to write it is no change. */
function sameOr(own: string | undefined, wanted: string): string {
  return own !== undefined && parseQuantity(own).equals(parseQuantity(wanted)) ? own : wanted;
}

function resourcesOf(initial: Node, existing: Node): { readonly capacity: Resources; readonly allocatable: Resources } {
  return {
    capacity: existing.status?.capacity ?? initial.status?.capacity ?? {},
    allocatable: existing.status?.allocatable ?? initial.status?.allocatable ?? {},
  };
}
