import { type Container, isExtendedResource, type Pod, parseQuantity } from '@node-agent/pod-spec';
import { DraError } from './errors.ts';

/** Feature gates that decide which claims a pod uses. */
export interface ClaimGates {
  /**
   * State of the gate DRAExtendedResource: extended resources may be backed by a claim. Upstream's default: enabled.
   */
  readonly extendedResources: boolean;
  /** State of the gate DRAWorkloadResourceClaims: claims may belong to a PodGroup. Upstream's default: disabled. */
  readonly workloadClaims: boolean;
}

/** A claim that a pod refers to. */
export interface ClaimReference {
  /** Name of the claim in the pod's spec. Empty for the claim that backs extended resources. */
  readonly podClaim: string;
  readonly claimName: string;
  /** Whether the claim was created from a template, so that the pod must own it. */
  readonly isFromTemplate: boolean;
}

/** Prefix of the implicit extended resource of a device class (`ResourceDeviceClassPrefix`). */
const DEVICE_CLASS_PREFIX = 'deviceclass.resource.kubernetes.io/';

/** Returns whether a pod refers to any claim. */
export function usesClaims({ spec, status }: Pod, { extendedResources }: ClaimGates): boolean {
  return (
    (spec.resourceClaims?.length ?? 0) > 0 || (extendedResources && status?.extendedResourceClaimStatus !== undefined)
  );
}

/**
 * Returns the claims of a pod (`prepareResources` in `pkg/kubelet/cm/dra/manager.go`, `Name` in
 * `k8s.io/dynamic-resource-allocation/resourceclaim`). A template for which no claim was created because none was
 * needed is omitted.
 * @throws DraError `ClaimUnusable` if a claim was not created yet
 */
export function podClaims(pod: Pod, { extendedResources }: ClaimGates): readonly ClaimReference[] {
  const own = (pod.spec.resourceClaims ?? []).flatMap(({ name }) => claimReference(pod, name) ?? []);
  const extended = extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  if (extended === undefined) return own;
  return [...own, { podClaim: '', claimName: extended.resourceClaimName, isFromTemplate: false }];
}

/**
 * Returns the requests that a container makes, by claim. The request '' stands for the whole claim (`GetResources` in
 * `pkg/kubelet/cm/dra/manager.go`).
 * @throws DraError `ClaimUnusable` if a claim of the container was not created yet
 */
export function containerRequests(
  pod: Pod,
  { name, resources }: Container,
  { extendedResources }: ClaimGates,
): ReadonlyMap<string, ReadonlySet<string>> {
  const requests = new Map<string, Set<string>>();
  const add = (claimName: string, request: string): void => {
    const known = requests.get(claimName) ?? new Set();
    requests.set(claimName, known.add(request));
  };
  for (const { name: podClaim, request = '' } of resources?.claims ?? []) {
    const reference = claimReference(pod, podClaim);
    if (reference !== undefined) add(reference.claimName, request);
  }
  const extended = extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  for (const { containerName, resourceName, requestName } of extended?.requestMappings ?? []) {
    const amount = resources?.requests?.[resourceName];
    if (containerName !== name || amount === undefined || !mayBeBackedByClaim(resourceName)) continue;
    if (!parseQuantity(amount).isZero) add(extended?.resourceClaimName ?? '', requestName);
  }
  return requests;
}

/** Returns the claims that a container uses, by name (`GetContainerClaimInfos`). */
export function containerClaims(pod: Pod, container: Container, gates: ClaimGates): readonly string[] {
  const own = (container.resources?.claims ?? []).flatMap(({ name }) => claimReference(pod, name)?.claimName ?? []);
  const extended = gates.extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  const isMapped = extended?.requestMappings.some(({ containerName }) => containerName === container.name) ?? false;
  return [...new Set([...own, ...(isMapped && extended ? [extended.resourceClaimName] : [])])];
}

/**
 * Returns the ResourceClaim that a claim of the pod's spec refers to.
 * @returns `undefined` if no claim is needed, or if the pod has no claim of this name
 */
function claimReference(pod: Pod, podClaim: string): ClaimReference | undefined {
  const claim = pod.spec.resourceClaims?.find(({ name }) => name === podClaim);
  if (claim === undefined) return undefined;
  const { name, namespace } = pod.metadata;
  if (claim.resourceClaimName !== undefined) {
    return { podClaim, claimName: claim.resourceClaimName, isFromTemplate: false };
  }
  if (claim.resourceClaimTemplateName === undefined) {
    const message = `pod "${namespace}/${name}", spec.resourceClaim "${podClaim}": none of the supported fields are set`;
    throw new DraError('ClaimUnusable', message);
  }
  const created = pod.status?.resourceClaimStatuses?.find((status) => status.name === podClaim);
  if (created === undefined) {
    throw new DraError('ClaimUnusable', `pod "${namespace}/${name}": ResourceClaim not created yet`);
  }
  const { resourceClaimName: claimName } = created;
  return claimName === undefined ? undefined : { podClaim, claimName, isFromTemplate: true };
}

function mayBeBackedByClaim(resource: string): boolean {
  return isExtendedResource(resource) || resource.startsWith(DEVICE_CLASS_PREFIX);
}
