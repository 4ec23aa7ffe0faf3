import type { Field } from './field.ts';
import { clusterFields, observabilityFields } from './fields-cluster.ts';
import { imageFields } from './fields-images.ts';
import { evictionFields, hostFields, shutdownFields } from './fields-node.ts';
import { logFields, networkFields, podFields, runtimeFields } from './fields-pods.ts';
import { cgroupFields, reservationFields, resourceManagerFields } from './fields-resources.ts';
import { authFields, serverFields, tlsFields } from './fields-server.ts';

/** Fields about one topic. */
export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly Field[];
}

/** All fields of KubeletConfiguration v1beta1 (k8s.io/kubelet/config/v1beta1/types.go, 1.36), by topic. */
export const fieldGroups: readonly FieldGroup[] = [
  { title: 'Pods and their sources', fields: podFields },
  { title: 'Container runtime', fields: runtimeFields },
  { title: 'Container logs', fields: logFields },
  { title: 'Images', fields: imageFields },
  { title: 'Network and DNS', fields: networkFields },
  { title: 'Servers', fields: serverFields },
  { title: 'TLS and certificates', fields: tlsFields },
  { title: 'Authentication and authorization', fields: authFields },
  { title: 'Cluster and node status', fields: clusterFields },
  { title: 'Cgroups', fields: cgroupFields },
  { title: 'Reserved resources', fields: reservationFields },
  { title: 'CPU, memory and topology managers', fields: resourceManagerFields },
  { title: 'Eviction, swap and local storage', fields: evictionFields },
  { title: 'Node shutdown', fields: shutdownFields },
  { title: 'Host and volumes', fields: hostFields },
  { title: 'Logs, traces, metrics and feature gates', fields: observabilityFields },
];

/** Fields of all groups. */
export const configurationFields: readonly Field[] = fieldGroups.flatMap((group) => group.fields);

export const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
export const KIND = 'KubeletConfiguration';
