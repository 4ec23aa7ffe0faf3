import type { Container, Pod } from '@node-agent/pod-spec';
import type { AdmitResult } from './admit-handler.ts';

/** What this kubelet can do for a pod beyond running its containers; each part comes with a manager of its own. */
export interface PodFeatures {
  readonly probes: boolean;
  readonly lifecycleHooks: boolean;
  readonly userNamespaces: boolean;
  readonly resourceClaims: boolean;
}

/**
 * Refuses pods that ask for something that nobody here would do: a pod whose probe is ignored, say, would be shown
 * Ready while it is not. The message names each field.
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
  // A scheduler has made a claim of a resource of its: no device plugin is to give it anything (KEP-5004).
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  if (!features.resourceClaims && mappings.length > 0) fields.push('status.extendedResourceClaimStatus');
  return fields;
}
