import type { Pod } from '@node-agent/pod-spec';
import type { ClaimGates, ClaimReference } from './pod-claims.ts';
import { allocatedDevices, type ResourceClaim } from './resource-claim.ts';

const SCHEDULING_GROUP = 'scheduling.k8s.io';

/**
 * Returns why a pod may not use a claim, in upstream's words. Returns `undefined` if the pod may use the claim
 * (`prepareResources` in `pkg/kubelet/cm/dra/manager.go`, `IsForPod` and `IsReservedForPod` in
 * `k8s.io/dynamic-resource-allocation/resourceclaim`).
 */
export function claimProblem(
  pod: Pod,
  { claimName, isFromTemplate }: ClaimReference,
  claim: ResourceClaim,
  gates: ClaimGates,
): string | undefined {
  const stranger = isFromTemplate ? ownerProblem(pod, claim, gates) : undefined;
  if (stranger !== undefined) return stranger;
  const { name, uid } = pod.metadata;
  if (!isReservedFor(pod, claim, gates)) {
    return `pod ${name} (${uid}) is not allowed to use ResourceClaim ${claimName} (${claim.metadata.uid ?? ''})`;
  }
  return allocatedDevices(claim) === undefined ? `ResourceClaim ${claimName}: not allocated` : undefined;
}

function ownerProblem(pod: Pod, claim: ResourceClaim, { workloadClaims }: ClaimGates): string | undefined {
  const { name, namespace, ownerReferences = [] } = claim.metadata;
  const claimText = `ResourceClaim ${namespace ?? ''}/${name ?? ''}`;
  const podText = `Pod ${pod.metadata.namespace}/${pod.metadata.name}`;
  if (namespace !== pod.metadata.namespace) return `${claimText} is not in the same namespace as ${podText}`;
  const controller = ownerReferences.find((owner) => owner.controller === true);
  if (controller?.uid === pod.metadata.uid) return undefined;
  const group = workloadClaims ? pod.spec.schedulingGroup?.podGroupName : undefined;
  if (group === undefined) return `${claimText} was not created for ${podText} (Pod is not owner)`;
  const isOfGroup =
    controller?.name === group &&
    controller.kind === 'PodGroup' &&
    controller.apiVersion.startsWith(`${SCHEDULING_GROUP}/`);
  if (isOfGroup) return undefined;
  return `${claimText} was not created for ${podText} (neither Pod nor PodGroup ${group} is the owner)`;
}

function isReservedFor(pod: Pod, { status }: ResourceClaim, { workloadClaims }: ClaimGates): boolean {
  const group = workloadClaims ? pod.spec.schedulingGroup?.podGroupName : undefined;
  return (status?.reservedFor ?? []).some(
    ({ uid, apiGroup, resource, name }) =>
      uid === pod.metadata.uid ||
      (group !== undefined && apiGroup === SCHEDULING_GROUP && resource === 'podgroups' && name === group),
  );
}
