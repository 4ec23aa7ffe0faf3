/** Patch behaviour of a field (struct tags and markers of `k8s.io/api`). */
export interface FieldSchema {
  /** Type of the object, of each list item, or of each map value. */
  readonly type?: string;
  /** Merge key of a list for strategic merge: items with the same value of this field are merged. */
  readonly mergeKey?: string;
  readonly merge?: boolean;
  /**
   * Key fields of a list of objects for server-side apply. With `set`, the field is a set of scalars; with `atomic`, a
   * value with a single owner.
   */
  readonly mapKeys?: readonly string[];
  readonly set?: boolean;
  readonly atomic?: boolean;
}

type TypeSchema = Readonly<Record<string, FieldSchema>>;

/**
 * Returns the schema of a list of objects with a merge key. Server-side apply uses the same key unless `mapKeys` is
 * given.
 */
function keyed(mergeKey: string, type?: string, mapKeys: readonly string[] = [mergeKey]): FieldSchema {
  return { merge: true, mergeKey, mapKeys, ...(type === undefined ? {} : { type }) };
}

const is = (type: string): FieldSchema => ({ type });
const scalars: FieldSchema = { merge: true, set: true };
const atomic: FieldSchema = { atomic: true };
const conditions: FieldSchema = keyed('type');
const resources: FieldSchema = is('ResourceRequirements');

const container: TypeSchema = {
  env: keyed('name', 'EnvVar'),
  ports: keyed('containerPort', undefined, ['containerPort', 'protocol']),
  resources,
  volumeMounts: keyed('mountPath'),
  volumeDevices: keyed('devicePath'),
};

const objectMeta: TypeSchema = {
  ownerReferences: keyed('uid', 'OwnerReference'),
  finalizers: scalars,
  managedFields: atomic,
};

const metadata: FieldSchema = is('ObjectMeta');
const withConditions: TypeSchema = { conditions };
const nodeSelectorAtomic: TypeSchema = { nodeSelector: atomic };

/**
 * Fields with special patch behaviour, by type. All other fields are plain objects, which are merged, and lists, which
 * are replaced. Types named after a kind are API objects.
 */
const types: Readonly<Record<string, TypeSchema>> = {
  ObjectMeta: objectMeta,
  OwnerReference: {},
  Pod: { metadata, spec: is('PodSpec'), status: is('PodStatus') },
  PodSpec: {
    affinity: is('Affinity'),
    containers: keyed('name', 'Container'),
    ephemeralContainers: keyed('name', 'Container'),
    hostAliases: keyed('ip'),
    imagePullSecrets: keyed('name'),
    initContainers: keyed('name', 'Container'),
    nodeSelector: atomic,
    resourceClaims: keyed('name'),
    resources,
    schedulingGates: keyed('name'),
    topologySpreadConstraints: keyed('topologyKey', 'TopologySpreadConstraint', ['topologyKey', 'whenUnsatisfiable']),
    volumes: keyed('name'),
  },
  PodStatus: {
    conditions,
    // Strategic merge has a merge key for host IPs, but apply replaces the list.
    hostIPs: { merge: true, mergeKey: 'ip' },
    podIPs: keyed('ip'),
    resourceClaimStatuses: keyed('name'),
    resources,
  },
  Container: container,
  EnvVar: { valueFrom: is('EnvVarSource') },
  EnvVarSource: {
    configMapKeyRef: atomic,
    fieldRef: atomic,
    fileKeyRef: atomic,
    resourceFieldRef: atomic,
    secretKeyRef: atomic,
  },
  ResourceRequirements: { claims: { mapKeys: ['name'] } },
  TopologySpreadConstraint: { labelSelector: atomic },
  Affinity: { nodeAffinity: is('NodeAffinity') },
  NodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: atomic },
  Node: { metadata, spec: is('NodeSpec'), status: is('NodeStatus') },
  NodeSpec: { podCIDRs: scalars },
  NodeStatus: { addresses: keyed('type'), conditions },
  Service: { metadata, spec: is('ServiceSpec'), status: is('Conditions') },
  ServiceSpec: { ports: keyed('port', undefined, ['port', 'protocol']), selector: atomic },
  Conditions: withConditions,
  ServiceAccount: { metadata, secrets: keyed('name') },
  Secret: { metadata },
  ConfigMap: { metadata },
  Namespace: { metadata, status: is('Conditions') },
  PersistentVolume: { metadata, spec: is('PersistentVolumeSpec') },
  PersistentVolumeSpec: { claimRef: atomic, nodeAffinity: is('VolumeNodeAffinity') },
  VolumeNodeAffinity: { required: atomic },
  PersistentVolumeClaim: { metadata, spec: is('PersistentVolumeClaimSpec'), status: is('Conditions') },
  PersistentVolumeClaimSpec: { dataSource: atomic, selector: atomic },
  Event: { metadata, involvedObject: atomic, regarding: atomic, related: atomic },
  Lease: { metadata },
  CertificateSigningRequest: { metadata, status: is('CsrStatus') },
  CsrStatus: { conditions: { mapKeys: ['type'] } },
  ClusterTrustBundle: { metadata },
  RuntimeClass: { metadata, scheduling: is('Scheduling') },
  Scheduling: nodeSelectorAtomic,
  CSINode: { metadata, spec: is('CSINodeSpec') },
  CSINodeSpec: { drivers: keyed('name') },
  CSIDriver: { metadata, spec: is('CSIDriverSpec') },
  CSIDriverSpec: { volumeLifecycleModes: { set: true } },
  StorageClass: { metadata },
  VolumeAttachment: { metadata, spec: is('VolumeAttachmentSpec') },
  VolumeAttachmentSpec: { source: is('VolumeAttachmentSource') },
  VolumeAttachmentSource: { inlineVolumeSpec: is('PersistentVolumeSpec') },
  PriorityClass: { metadata },
  ResourceClaim: { metadata, status: is('ResourceClaimStatus') },
  ResourceClaimStatus: {
    allocation: is('AllocationResult'),
    devices: { type: 'Conditions', mapKeys: ['driver', 'device', 'pool', 'shareID'] },
    reservedFor: keyed('uid'),
  },
  AllocationResult: nodeSelectorAtomic,
  ResourceSlice: { metadata, spec: is('ResourceSliceSpec') },
  ResourceSliceSpec: nodeSelectorAtomic,
};

const PLAIN: FieldSchema = {};

/** Returns the schema of a field of a type. Types and fields that are not listed have no special behaviour. */
export function fieldSchema(type: string | undefined, field: string): FieldSchema {
  const fields = type !== undefined && Object.hasOwn(types, type) ? types[type] : undefined;
  return (fields !== undefined && Object.hasOwn(fields, field) ? fields[field] : undefined) ?? PLAIN;
}
