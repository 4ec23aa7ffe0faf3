import type { Container, Pod } from '@node-agent/pod-spec';
import type { AdmitResult } from './admit-handler.ts';

/**
 * Features that this kubelet supports besides running containers. Each feature is implemented by a manager of its own.
 */
export interface PodFeatures {
  readonly probes: boolean;
  readonly lifecycleHooks: boolean;
  readonly userNamespaces: boolean;
  readonly resourceClaims: boolean;
}

/**
 * Rejects pods that request an unsupported feature. If such a field were ignored, the pod would behave wrongly: a pod
 * with an ignored readiness probe would be shown as Ready when it is not. The message names each field.
 */
export function unsupportedFeatureHandler(features: PodFeatures): { admit(pod: Pod): AdmitResult } {
  return {
    admit(pod) {
      const fields = unsupportedFields(pod, features);
      return fields.length === 0
        ? { admit: true }
        : { admit: false, reason: 'UnsupportedFeature', message: `this kubelet does not support ${fields.join(', ')}` };
    },
  };
}

function unsupportedFields(pod: Pod, features: PodFeatures): string[] {
  const fields: string[] = [];
  const groups = { initContainers: pod.spec.initContainers ?? [], containers: pod.spec.containers };
  for (const [group, containers] of Object.entries(groups)) {
    containers.forEach((container: Container, index) => {
      const at = `spec.${group}[${index}]`;
      if (!features.probes) {
        for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
          if (container[probe] !== undefined) fields.push(`${at}.${probe}`);
        }
      }
      if (!features.lifecycleHooks) {
        for (const hook of ['postStart', 'preStop'] as const) {
          if (container.lifecycle?.[hook] !== undefined) fields.push(`${at}.lifecycle.${hook}`);
        }
      }
      if (!features.resourceClaims && container.resources?.claims?.length) fields.push(`${at}.resources.claims`);
    });
  }
  if (!features.userNamespaces && pod.spec.hostUsers === false) fields.push('spec.hostUsers=false');
  if (!features.resourceClaims && pod.spec.resourceClaims?.length) fields.push('spec.resourceClaims');
  // The scheduler has converted an extended resource request into a ResourceClaim, so no device plugin must allocate it
  // (KEP-5004).
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  if (!features.resourceClaims && mappings.length > 0) fields.push('status.extendedResourceClaimStatus');
  return fields;
}
