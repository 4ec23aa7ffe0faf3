import type { Node, Taint } from './node.ts';

/** The annotation that leaves attaching and detaching of volumes to the controller manager. */
const CONTROLLER_MANAGED_ATTACH = 'volumes.kubernetes.io/controller-managed-attach-detach';

const UNINITIALIZED: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};

/** How a node is registered. */
export interface RegistrationSettings {
  readonly nodeName: string;
  readonly hostname: string;
  /** --node-labels, as `@node-agent/config` has checked them: they stand above the default ones. */
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Empty: none. */
  readonly providerId: string;
  readonly externalCloudProvider: boolean;
  readonly enableControllerAttachDetach: boolean;
  readonly operatingSystem: string;
  readonly architecture: string;
}

/** The node as it is created, but for its status (`kubelet_node_status.go`, initialNode). */
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

/** The labels that a node is registered with: those of its machine, and above them its own. */
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

/** The labels that a node must have at any time, set right (`kubelet_node_status.go`, updateNode). */
export function withRequiredLabels(
  node: Node,
  { operatingSystem, architecture }: Pick<RegistrationSettings, 'operatingSystem' | 'architecture'>,
): Node {
  const required = { 'kubernetes.io/os': operatingSystem, 'kubernetes.io/arch': architecture };
  const labels = node.metadata.labels ?? {};
  if (Object.entries(required).every(([key, value]) => labels[key] === value)) return node;
  return { ...node, metadata: { ...node.metadata, labels: { ...labels, ...required } } };
}

// A kubelet sets these anew on a node that is there already; others, of --node-labels too, are an administrator's by then.
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

/** The existing node with the default labels of the one that would have been created (updateDefaultLabels). */
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

/** The existing node with this kubelet's say on who attaches volumes (reconcileCMADAnnotationWithExistingNode). */
export function reconcileAttachAnnotation(initial: Node, existing: Node): Node {
  const value = initial.metadata.annotations?.[CONTROLLER_MANAGED_ATTACH];
  const { [CONTROLLER_MANAGED_ATTACH]: present, ...others } = existing.metadata.annotations ?? {};
  if (present === value) return existing;
  const annotations = value === undefined ? others : { ...others, [CONTROLLER_MANAGED_ATTACH]: value };
  return { ...existing, metadata: { ...existing.metadata, annotations } };
}
