import type { Node, Taint } from './node.ts';

/** The annotation that delegates attaching and detaching of volumes to the controller manager. */
const CONTROLLER_MANAGED_ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

const UNINITIALIZED: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

/** The settings for registering a node. */
export interface RegistrationSettings {
  readonly nodeName: string;
  readonly hostname: string;
  /** --node-labels, validated by `@node-agent/config`. Labels of --node-labels override the default labels. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** The provider ID of the machine. The value is empty if the machine has no provider ID. */
  readonly providerId: string;
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
  readonly operatingSystem: string;
  readonly architecture: string;
}

/** Returns the node to create, without its status (`kubelet_node_status.go`, initialNode). */
export function initialNode(settings: RegistrationSettings): Node {
  const { nodeName, providerId } = settings;
  const taints = settings.externalCloudProvider ? [...settings.taints, UNINITIALIZED] : settings.taints;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: initialLabels(settings),
      ...(settings.enableControllerAttachDetach && { annotations: { [CONTROLLER_MANAGED_ATTACH]: 'true' } }),
    },
    spec: {
      ...(taints.length > 0 && { taints }),
      ...(providerId !== '' && { providerID: providerId }),
    },
  };
}

/** Returns the labels of a new node: those of its machine, overridden by --node-labels. */
export function initialLabels({
  hostname,
  operatingSystem,
  architecture,
  nodeLabels,
}: Pick<RegistrationSettings, 'hostname' | 'operatingSystem' | 'architecture' | 'nodeLabels'>): Readonly<
  Record<string, string>
> {
  return {
    'kubernetes.io/hostname': hostname,
    'kubernetes.io/os': operatingSystem,
    'kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': operatingSystem,
    'beta.kubernetes.io/arch': architecture,
    ...nodeLabels,
  };
}

/**
 * Sets the operating system and architecture labels, which a node must always have (`kubelet_node_status.go`,
 * updateNode).
 */
export function withRequiredLabels(
  node: Node,
  { operatingSystem, architecture }: Pick<RegistrationSettings, 'operatingSystem' | 'architecture'>,
): Node {
  const required = { 'kubernetes.io/os': operatingSystem, 'kubernetes.io/arch': architecture };
  const labels = node.metadata.labels ?? {};
  if (Object.entries(required).every(([key, value]) => labels[key] === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...required } } };
}

// The labels that a kubelet resets on an existing node. Other labels, including those of --node-labels, belong to the
// administrator once the node exists.
const DEFAULT_LABELS = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/** Returns the existing node with the default labels that a newly created node would have (updateDefaultLabels). */
export function reconcileLabels(initial: Node, existing: Node): Node {
  const wanted = initial.metadata.labels ?? {};
  const labels: Record<string, string> = { ...existing.metadata.labels };
  for (const key of DEFAULT_LABELS) {
    const value = wanted[key];
    if (value === '') delete labels[key];
    else if (value !== undefined) labels[key] = value;
  }
  return { ...existing, metadata: { ...existing.metadata, labels } };
}

/**
 * Returns the existing node with this kubelet's setting for attaching volumes
 * (reconcileCMADAnnotationWithExistingNode).
 */
export function reconcileAttachAnnotation(initial: Node, existing: Node): Node {
  const value = initial.metadata.annotations?.[CONTROLLER_MANAGED_ATTACH];
  const { [CONTROLLER_MANAGED_ATTACH]: present, ...others } = existing.metadata.annotations ?? {};
  if (present === value) return existing;
  const annotations = value === undefined ? others : { ...others, [CONTROLLER_MANAGED_ATTACH]: value };
  return { ...existing, metadata: { ...existing.metadata, annotations } };
}
