import type { CSINode, CSINodeDriver } from '@node-agent/pod-spec/api';
import type { CsiDriverNodeInfo } from '../client/responses.ts';

/** Annotation of CSINode with the in-tree types that this kubelet leaves to CSI drivers (`MigratedPluginsAnnotationKey`). */
const MIGRATED_PLUGINS = 'storage.alpha.kubernetes.io/migrated-plugins';

/** The in-tree types that Kubernetes 1.36 always leaves to CSI drivers (`pkg/volume/csi/csi_plugin.go: Init`). */
const MIGRATED_TYPES: readonly string[] = [
  'kubernetes.io/aws-ebs',
  'kubernetes.io/azure-disk',
  'kubernetes.io/azure-file',
  'kubernetes.io/cinder',
  'kubernetes.io/gce-pd',
  'kubernetes.io/portworx-volume',
  'kubernetes.io/vsphere-volume',
];

/** Returns the CSINode of a node without drivers. */
export function newCsiNode(nodeName: string, nodeUid: string): CSINode {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }];
  const annotations = { [MIGRATED_PLUGINS]: MIGRATED_TYPES.join(',') };
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: nodeName, annotations, ownerReferences },
    spec: { drivers: [] },
  };
}

/** Returns whether the object belongs to this node, and not to a deleted node of the same name. */
export function isOwnedBy({ metadata }: CSINode, nodeName: string, nodeUid: string): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === 'Node' && name === nodeName && uid === nodeUid,
  );
}

/** Returns the object with the annotation of migrated types; `undefined` if nothing changes. */
export function withMigratedPlugins(csiNode: CSINode): CSINode | undefined {
  const present = new Set((csiNode.metadata.annotations?.[MIGRATED_PLUGINS] ?? '').split(',').filter(Boolean));
  if (present.size === MIGRATED_TYPES.length && MIGRATED_TYPES.every((type) => present.has(type))) return undefined;
  const annotations = { ...csiNode.metadata.annotations, [MIGRATED_PLUGINS]: MIGRATED_TYPES.join(',') };
  return { ...csiNode, metadata: { ...csiNode.metadata, annotations } };
}

/**
 * Returns the object with the driver (`nodeinfomanager.go: installDriverToCSINode`); `undefined` if nothing changes. A
 * driver that changed moves to the end of the list.
 */
export function withDriver(csiNode: CSINode, name: string, info: CsiDriverNodeInfo): CSINode | undefined {
  const present = driversOf(csiNode).find((driver) => driver.name === name);
  const annotated = withMigratedPlugins(csiNode);
  if (present !== undefined && isSame(present, info) && annotated === undefined) return undefined;
  const driver: CSINodeDriver = {
    name,
    nodeID: info.nodeId,
    topologyKeys: Object.keys(info.topology).sort(),
    ...(info.maxVolumes > 0 && { allocatable: { count: info.maxVolumes } }),
  };
  const base = annotated ?? csiNode;
  return { ...base, spec: { ...base.spec, drivers: [...others(csiNode, name), driver] } };
}

/** Returns the object without the driver; `undefined` if nothing changes. */
export function withoutDriver(csiNode: CSINode, name: string): CSINode | undefined {
  const drivers = others(csiNode, name);
  if (drivers.length === driversOf(csiNode).length) return undefined;
  return { ...csiNode, spec: { ...csiNode.spec, drivers } };
}

function others(csiNode: CSINode, name: string): readonly CSINodeDriver[] {
  return driversOf(csiNode).filter((driver) => driver.name !== name);
}

/** Returns the drivers of the object. The API server returns an empty list as `null`. */
function driversOf({
  spec,
}: {
  readonly spec: { readonly drivers: CSINode['spec']['drivers'] | null };
}): readonly CSINodeDriver[] {
  return spec.drivers ?? [];
}

function isSame(
  {
    nodeID,
    topologyKeys,
    allocatable,
  }: Omit<CSINodeDriver, 'topologyKeys'> & { readonly topologyKeys?: readonly string[] | null },
  info: CsiDriverNodeInfo,
): boolean {
  const keys = Object.keys(info.topology);
  // The API server returns an empty list as `null`.
  const present = topologyKeys ?? [];
  return (
    nodeID === info.nodeId &&
    present.length === keys.length &&
    keys.every((key) => present.includes(key)) &&
    (allocatable?.count ?? 0) === info.maxVolumes
  );
}
