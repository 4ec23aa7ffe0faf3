import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  ConfigMap,
  CoreEvent,
  CSIDriver,
  CSINode,
  Event,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  SubjectAccessReview,
  TokenReview,
  VolumeAttachment,
} from '@node-agent/pod-spec/api';
import type { Resource } from './resource.ts';

/** The resources that a node reads and writes. Other resources can be written as object literals. */
export interface Resources {
  readonly pods: Resource<Pod>;
  readonly nodes: Resource<Node>;
  readonly namespaces: Resource<Namespace>;
  readonly services: Resource<Service>;
  readonly secrets: Resource<Secret>;
  readonly configMaps: Resource<ConfigMap>;
  readonly serviceAccounts: Resource<ServiceAccount>;
  readonly persistentVolumes: Resource<PersistentVolume>;
  readonly persistentVolumeClaims: Resource<PersistentVolumeClaim>;
  readonly coreEvents: Resource<CoreEvent>;
  readonly events: Resource<Event>;
  readonly leases: Resource<Lease>;
  readonly runtimeClasses: Resource<RuntimeClass>;
  readonly csiDrivers: Resource<CSIDriver>;
  readonly csiNodes: Resource<CSINode>;
  readonly volumeAttachments: Resource<VolumeAttachment>;
  readonly certificateSigningRequests: Resource<CertificateSigningRequest>;
  readonly clusterTrustBundles: Resource<ClusterTrustBundle>;
  readonly tokenReviews: Resource<TokenReview>;
  readonly subjectAccessReviews: Resource<SubjectAccessReview>;
}

/** The resources of {@link Resources}, ready to be passed to a client. */
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
