import { dns1123LabelProblem } from '@node-agent/pod-spec';
import type { SelectableFields } from '../core/field-selector.ts';
import { at, type JsonObject, listAt, textAt } from '../core/json.ts';
import { field, type ResourceDefinition, type Strategy } from './definition.ts';
import { coreEventStrategy, eventStrategy } from './event-strategy.ts';
import { podStrategy } from './pod-strategy.ts';
import {
  configMapStrategy,
  csiDriverStrategy,
  csiNodeStrategy,
  csrStrategy,
  generationStrategy,
  leaseStrategy,
  namespaceStrategy,
  nodeStrategy,
  pathSegmentProblem,
  persistentVolumeClaimStrategy,
  persistentVolumeStrategy,
  priorityClassStrategy,
  runtimeClassStrategy,
  secretStrategy,
  serviceStrategy,
  storageClassStrategy,
} from './strategies.ts';

const named: SelectableFields = { 'metadata.name': field('metadata', 'name') };
const namespacedFields: SelectableFields = { ...named, 'metadata.namespace': field('metadata', 'namespace') };

interface Init {
  readonly group?: string;
  readonly version?: string;
  readonly storage?: string;
  readonly clusterWide?: true;
  readonly shortNames?: readonly string[];
  readonly subresources?: readonly string[];
  readonly fields?: SelectableFields;
  readonly createOnUpdate?: true;
  /** Set if PUT requires a resource version. */
  readonly conditionalUpdate?: true;
  readonly strategy?: Strategy;
}

function resource(plural: string, kind: string, init: Init = {}): ResourceDefinition {
  return {
    group: init.group ?? '',
    version: init.version ?? 'v1',
    plural,
    kind,
    namespaced: init.clusterWide === undefined,
    storage: init.storage ?? plural,
    shortNames: init.shortNames ?? [],
    subresources: init.subresources ?? [],
    fields: { ...(init.clusterWide ? named : namespacedFields), ...init.fields },
    createOnUpdate: init.createOnUpdate === true,
    unconditionalUpdate: init.conditionalUpdate === undefined,
    strategy: init.strategy ?? {},
  };
}

const podFields: SelectableFields = {
  'spec.nodeName': field('spec', 'nodeName'),
  'spec.host': field('spec', 'nodeName'),
  'spec.restartPolicy': field('spec', 'restartPolicy'),
  'spec.schedulerName': field('spec', 'schedulerName'),
  'spec.serviceAccountName': field('spec', 'serviceAccountName'),
  'spec.hostNetwork': (pod) => String(at(pod, 'spec', 'hostNetwork') === true),
  'status.phase': field('status', 'phase'),
  'status.podIP': (pod) => textAt(listAt(pod, 'status', 'podIPs')[0], 'ip') || textAt(pod, 'status', 'podIP'),
  'status.nominatedNodeName': field('status', 'nominatedNodeName'),
};

const eventSource = (event: JsonObject): string =>
  textAt(event, 'source', 'component') || textAt(event, 'reportingComponent');

const EVENT_OBJECT_FIELDS = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/**
 * Returns the selectable fields of the object that an event is about. @param name name of the object's field in the API
 * group of the event
 */
function aboutObject(name: string): SelectableFields {
  return Object.fromEntries(EVENT_OBJECT_FIELDS.map((one) => [`${name}.${one}`, field('involvedObject', one)]));
}

const storageGroup = { group: 'storage.k8s.io', clusterWide: true } as const;

/** All resources that the server serves. */
export const registry: readonly ResourceDefinition[] = [
  resource('namespaces', 'Namespace', {
    clusterWide: true,
    shortNames: ['ns'],
    subresources: ['status'],
    fields: { 'status.phase': field('status', 'phase') },
    strategy: { ...namespaceStrategy, nameProblem: dns1123LabelProblem },
  }),
  resource('pods', 'Pod', {
    shortNames: ['po'],
    subresources: ['status', 'ephemeralcontainers', 'resize'],
    fields: podFields,
    strategy: podStrategy,
  }),
  resource('nodes', 'Node', {
    clusterWide: true,
    shortNames: ['no'],
    subresources: ['status'],
    fields: { 'spec.unschedulable': (node) => String(at(node, 'spec', 'unschedulable') === true) },
    strategy: nodeStrategy,
  }),
  resource('services', 'Service', {
    shortNames: ['svc'],
    subresources: ['status'],
    fields: { 'spec.clusterIP': field('spec', 'clusterIP'), 'spec.type': field('spec', 'type') },
    createOnUpdate: true,
    strategy: { ...serviceStrategy, nameProblem: dns1123LabelProblem },
  }),
  resource('serviceaccounts', 'ServiceAccount', { shortNames: ['sa'] }),
  resource('secrets', 'Secret', { fields: { type: field('type') }, strategy: secretStrategy }),
  resource('configmaps', 'ConfigMap', { shortNames: ['cm'], strategy: configMapStrategy }),
  resource('persistentvolumes', 'PersistentVolume', {
    clusterWide: true,
    shortNames: ['pv'],
    subresources: ['status'],
    strategy: persistentVolumeStrategy,
  }),
  resource('persistentvolumeclaims', 'PersistentVolumeClaim', {
    shortNames: ['pvc'],
    subresources: ['status'],
    strategy: persistentVolumeClaimStrategy,
  }),
  resource('events', 'Event', {
    shortNames: ['ev'],
    createOnUpdate: true,
    fields: {
      ...aboutObject('involvedObject'),
      reason: field('reason'),
      reportingComponent: field('reportingComponent'),
      source: eventSource,
      type: field('type'),
    },
    strategy: coreEventStrategy,
  }),
  resource('events', 'Event', {
    group: 'events.k8s.io',
    shortNames: ['ev'],
    createOnUpdate: true,
    fields: {
      ...aboutObject('regarding'),
      reason: field('reason'),
      reportingController: field('reportingComponent'),
      type: field('type'),
    },
    strategy: eventStrategy,
  }),
  resource('leases', 'Lease', {
    group: 'coordination.k8s.io',
    createOnUpdate: true,
    conditionalUpdate: true,
    strategy: leaseStrategy,
  }),
  resource('certificatesigningrequests', 'CertificateSigningRequest', {
    group: 'certificates.k8s.io',
    clusterWide: true,
    shortNames: ['csr'],
    subresources: ['status', 'approval'],
    fields: { 'spec.signerName': field('spec', 'signerName') },
    strategy: csrStrategy,
  }),
  resource('clustertrustbundles', 'ClusterTrustBundle', {
    group: 'certificates.k8s.io',
    version: 'v1beta1',
    clusterWide: true,
    conditionalUpdate: true,
    fields: { 'spec.signerName': field('spec', 'signerName') },
    strategy: { nameProblem: pathSegmentProblem },
  }),
  resource('runtimeclasses', 'RuntimeClass', {
    group: 'node.k8s.io',
    clusterWide: true,
    createOnUpdate: true,
    conditionalUpdate: true,
    strategy: runtimeClassStrategy,
  }),
  resource('csinodes', 'CSINode', { ...storageGroup, conditionalUpdate: true, strategy: csiNodeStrategy }),
  resource('csidrivers', 'CSIDriver', { ...storageGroup, conditionalUpdate: true, strategy: csiDriverStrategy }),
  resource('storageclasses', 'StorageClass', { ...storageGroup, shortNames: ['sc'], strategy: storageClassStrategy }),
  resource('volumeattachments', 'VolumeAttachment', {
    ...storageGroup,
    subresources: ['status'],
    conditionalUpdate: true,
  }),
  resource('priorityclasses', 'PriorityClass', {
    group: 'scheduling.k8s.io',
    clusterWide: true,
    shortNames: ['pc'],
    strategy: priorityClassStrategy,
  }),
  resource('resourceclaims', 'ResourceClaim', { group: 'resource.k8s.io', subresources: ['status'] }),
  resource('resourceslices', 'ResourceSlice', {
    group: 'resource.k8s.io',
    clusterWide: true,
    fields: { 'spec.nodeName': field('spec', 'nodeName'), 'spec.driver': field('spec', 'driver') },
    strategy: generationStrategy,
  }),
];
