import type { Pod } from './api.ts';

/**
 * Returns whether an extended resource of a container is backed by a ResourceClaim that the scheduler created (KEP-5004),
 * so that neither a device plugin nor the node's capacity provides it. The caller must check the feature gate
 * DRAExtendedResource, without which no extended resource is backed by a claim.
 */
export function isBackedByClaim({ status }: Pod, container: string, resource: string): boolean {
  const mappings = status?.extendedResourceClaimStatus?.requestMappings ?? [];
  return mappings.some(({ containerName, resourceName }) => containerName === container && resourceName === resource);
}
