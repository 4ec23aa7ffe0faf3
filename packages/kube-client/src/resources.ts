import type {
  CoreV1Event,
  EventsV1Event,
  V1beta1ClusterTrustBundle,
  V1CertificateSigningRequest,
  V1ConfigMap,
  V1CSIDriver,
  V1CSINode,
  V1Lease,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1RuntimeClass,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1SubjectAccessReview,
  V1TokenReview,
  V1VolumeAttachment,
} from '@kubernetes/client-node';
import type { Pod, Wire } from '@node-agent/pod-spec';
import type { Resource } from './resource.ts';

/** An API object of the client library's type `T` as its JSON is on the wire, with its metadata always there. */
export type ObjectOf<T extends { readonly metadata?: unknown }> = Wire<T> & {
  readonly metadata: NonNullable<Wire<T>['metadata']>;
};

/** The resources that a node reads and writes. A resource that is not here is an object literal away. */
export interface Resources {
  readonly pods: Resource<Pod>;
  readonly nodes: Resource<ObjectOf<V1Node>>;
  readonly namespaces: Resource<ObjectOf<V1Namespace>>;
  readonly services: Resource<ObjectOf<V1Service>>;
  readonly secrets: Resource<ObjectOf<V1Secret>>;
  readonly configMaps: Resource<ObjectOf<V1ConfigMap>>;
  readonly serviceAccounts: Resource<ObjectOf<V1ServiceAccount>>;
  readonly persistentVolumes: Resource<ObjectOf<V1PersistentVolume>>;
  readonly persistentVolumeClaims: Resource<ObjectOf<V1PersistentVolumeClaim>>;
  readonly coreEvents: Resource<ObjectOf<CoreV1Event>>;
  readonly events: Resource<ObjectOf<EventsV1Event>>;
  readonly leases: Resource<ObjectOf<V1Lease>>;
  readonly runtimeClasses: Resource<ObjectOf<V1RuntimeClass>>;
  readonly csiDrivers: Resource<ObjectOf<V1CSIDriver>>;
  readonly csiNodes: Resource<ObjectOf<V1CSINode>>;
  readonly volumeAttachments: Resource<ObjectOf<V1VolumeAttachment>>;
  readonly certificateSigningRequests: Resource<ObjectOf<V1CertificateSigningRequest>>;
  readonly clusterTrustBundles: Resource<ObjectOf<V1beta1ClusterTrustBundle>>;
  readonly tokenReviews: Resource<ObjectOf<V1TokenReview>>;
  readonly subjectAccessReviews: Resource<ObjectOf<V1SubjectAccessReview>>;
}

/** @see Resources */
export const resources: Resources = {
  pods: { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
  nodes: { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false },
  namespaces: { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false },
  services: { group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true },
  secrets: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true },
  configMaps: { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
  serviceAccounts: { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', namespaced: true },
  persistentVolumes: {
    group: '',
    version: 'v1',
    plural: 'persistentvolumes',
    kind: 'PersistentVolume',
    namespaced: false,
  },
  persistentVolumeClaims: {
    group: '',
    version: 'v1',
    plural: 'persistentvolumeclaims',
    kind: 'PersistentVolumeClaim',
    namespaced: true,
  },
  coreEvents: { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true },
  events: { group: 'events.k8s.io', version: 'v1', plural: 'events', kind: 'Event', namespaced: true },
  leases: { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', namespaced: true },
  runtimeClasses: {
    group: 'node.k8s.io',
    version: 'v1',
    plural: 'runtimeclasses',
    kind: 'RuntimeClass',
    namespaced: false,
  },
  csiDrivers: { group: 'storage.k8s.io', version: 'v1', plural: 'csidrivers', kind: 'CSIDriver', namespaced: false },
  csiNodes: { group: 'storage.k8s.io', version: 'v1', plural: 'csinodes', kind: 'CSINode', namespaced: false },
  volumeAttachments: {
    group: 'storage.k8s.io',
    version: 'v1',
    plural: 'volumeattachments',
    kind: 'VolumeAttachment',
    namespaced: false,
  },
  certificateSigningRequests: {
    group: 'certificates.k8s.io',
    version: 'v1',
    plural: 'certificatesigningrequests',
    kind: 'CertificateSigningRequest',
    namespaced: false,
  },
  clusterTrustBundles: {
    group: 'certificates.k8s.io',
    version: 'v1beta1',
    plural: 'clustertrustbundles',
    kind: 'ClusterTrustBundle',
    namespaced: false,
  },
  tokenReviews: {
    group: 'authentication.k8s.io',
    version: 'v1',
    plural: 'tokenreviews',
    kind: 'TokenReview',
    namespaced: false,
  },
  subjectAccessReviews: {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'subjectaccessreviews',
    kind: 'SubjectAccessReview',
    namespaced: false,
  },
};
