import { formatResourceList, parseResourceList } from '@node-agent/pod-spec';
import { type AddressSettings, type NetworkFacts, setAddresses } from './addresses.ts';
import { nodeAllocatable } from './allocatable.ts';
import { type CapacitySettings, type DevicePluginResources, nodeCapacity } from './capacity.ts';
import { declaredFeatures } from './declared-features.ts';
import { NodeStatusError } from './errors.ts';
import type { MachineInfo } from './machine-info.ts';
import { type Node, type NodeStatus, withStatus } from './node.ts';
import { type NodeImage, nodeImages } from './node-images.ts';
import { type PressureFacts, setPressure } from './pressure.ts';
import { type ReadinessFacts, setReady } from './readiness.ts';
import type { Reservations } from './reservation.ts';
import { nodeFeatures, nodeRuntimeHandlers, type RuntimeFeatures, type RuntimeHandler } from './runtime-features.ts';
import { type RuntimeVersion, type SystemSettings, systemInfo } from './system-info.ts';

/**
 * The facts from which a node's status is computed, at one moment. A value that is `undefined` is unknown; the node
 * keeps its previous value.
 */
export interface NodeFacts {
  readonly machine: MachineInfo | undefined;
  readonly network: NetworkFacts | undefined;
  readonly ephemeralStorageBytes: number | undefined;
  readonly devicePlugins: DevicePluginResources | undefined;
  readonly runtimeVersion: RuntimeVersion | undefined;
  readonly runtimeHandlers: readonly RuntimeHandler[] | undefined;
  readonly runtimeFeatures: RuntimeFeatures | undefined;
  readonly images: readonly NodeImage[] | undefined;
  readonly pressure: PressureFacts;
  readonly readiness: ReadinessFacts;
  readonly volumesInUse: readonly string[] | undefined;
}

/** The settings of a status. */
export interface StatusSettings extends AddressSettings, CapacitySettings, SystemSettings {
  readonly reservations: Reservations;
  /** The maximum number of images in the status. -1: all. */
  readonly maxImages: number;
  /** The port of the kubelet's HTTPS server. */
  readonly kubeletPort: number;
  readonly gateEnabled: (gate: string) => boolean;
}

/** The node with its new status, and the errors of the parts of the status that could not be set. */
export interface StatusOutcome {
  readonly node: Node;
  readonly problems: readonly NodeStatusError[];
}

/**
 * Computes the node's status. A part that fails is reported in `problems` and keeps its previous value; other parts are
 * still set. Conditions, resources and annotations of other writers are kept.
 */
export function setNodeStatus(node: Node, facts: NodeFacts, settings: StatusSettings, nowMs: number): StatusOutcome {
  const problems: NodeStatusError[] = [];
  const attempt = (step: (node: Node) => Node) => (before: Node) => {
    try {
      return step(before);
    } catch (error) {
      problems.push(NodeStatusError.from(error));
      return before;
    }
  };
  const steps: readonly ((node: Node) => Node)[] = [
    attempt((before) => (facts.network === undefined ? before : setAddresses(before, facts.network, settings))),
    attempt((before) => setResources(before, facts, settings)),
    (before) =>
      withStatus(before, {
        nodeInfo: systemInfo(before.status?.nodeInfo, facts.machine, facts.runtimeVersion, settings),
        daemonEndpoints: { kubeletEndpoint: { Port: settings.kubeletPort } },
        ...statusParts(facts, settings),
      }),
    (before) => setPressure(before, facts.pressure, nowMs),
    // Schedulers older than this kubelet expect the Ready condition after all other conditions (k/k#16961).
    (before) => setReady(before, facts.readiness, settings, nowMs),
  ];
  return { node: steps.reduce((before, step) => step(before), node), problems };
}

function setResources(node: Node, facts: NodeFacts, settings: StatusSettings): Node {
  const capacity = nodeCapacity(parseResourceList(node.status?.capacity), facts, settings);
  const before = parseResourceList(node.status?.allocatable);
  const devices = facts.devicePlugins?.allocatable;
  const allocatable = nodeAllocatable(before, capacity, settings.reservations, devices);
  return withStatus(node, { capacity: formatResourceList(capacity), allocatable: formatResourceList(allocatable) });
}

function statusParts(facts: NodeFacts, settings: StatusSettings): Partial<NodeStatus> {
  const { images, runtimeHandlers, runtimeFeatures, volumesInUse } = facts;
  const features = nodeFeatures(runtimeFeatures);
  const declares = settings.gateEnabled('NodeDeclaredFeatures');
  return {
    ...(images && { images: nodeImages(images, settings.maxImages) }),
    ...(runtimeHandlers && { runtimeHandlers: nodeRuntimeHandlers(runtimeHandlers) }),
    ...(features && { features }),
    ...(declares && { declaredFeatures: declaredFeatures(settings.gateEnabled, runtimeFeatures) }),
    ...(volumesInUse && { volumesInUse: [...volumesInUse].sort() }),
  };
}
