import type { Container, ContainerStatus, Pod } from '@node-agent/pod-spec';
import { type ClaimInfo, devicesOfRequest, type PreparedDevice } from './claim-info.ts';
import { DraError } from './errors.ts';
import type { ReportedHealth } from './health-table.ts';
import { containerRequests } from './pod-claims.ts';

type ResourceStatus = NonNullable<ContainerStatus['allocatedResourcesStatus']>[number];
type ResourceHealth = NonNullable<ResourceStatus['resources']>[number];

/** Sources from which {@link resourcesStatus} takes claims and health. */
export interface HealthSources {
  readonly claim: (name: string) => ClaimInfo | undefined;
  readonly health: (driver: string, device: PreparedDevice) => Pick<ReportedHealth, 'health' | 'message'>;
  /** State of the feature gate ResourceHealthStatusMessage. */
  readonly withMessages: boolean;
}

/**
 * Returns the health of a container's claimed devices for its status (`UpdateAllocatedResourcesStatus` in
 * `pkg/kubelet/cm/dra/manager.go`, KEP-4680). The name of each entry consists of the claim's name in the pod's spec and
 * the request. Entries are sorted, unlike in upstream.
 */
export function resourcesStatus(
  pod: Pod,
  container: Container,
  { claim, health, withMessages }: HealthSources,
): readonly ResourceStatus[] {
  const statuses = new Map<string, ResourceStatus>();
  for (const use of container.resources?.claims ?? []) {
    const claimName = nameOfClaim(pod, container, use);
    const info = claimName === undefined ? undefined : claim(claimName);
    if (info === undefined) continue;
    const name = use.request ? `claim:${use.name}/${use.request}` : `claim:${use.name}`;
    const entries = new Map<string, ResourceHealth>();
    for (const [driver, device] of devicesOfRequest(info, use.request ?? '')) {
      const { health: state, message } = health(driver, device);
      const resourceID = device.cdiDeviceIds[0] ?? `${driver}/${device.pool}/${device.device}`;
      const entry = { resourceID, health: state, ...(withMessages && message !== '' && { message }) };
      if (!entries.has(resourceID)) entries.set(resourceID, entry);
    }
    if (entries.size > 0) statuses.set(name, { name, resources: [...entries.values()].sort(byResourceId) });
  }
  return [...statuses.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function nameOfClaim(
  pod: Pod,
  container: Container,
  use: { readonly name: string; readonly request?: string },
): string | undefined {
  const only = { ...container, resources: { claims: [use] } };
  try {
    return [...containerRequests(pod, only, { extendedResources: false, workloadClaims: false }).keys()][0];
  } catch (err) {
    // The claim was not created yet, so the container has no devices of the claim.
    if (DraError.is(err)) return undefined;
    throw err;
  }
}

function byResourceId(a: ResourceHealth, b: ResourceHealth): number {
  return a.resourceID < b.resourceID ? -1 : 1;
}
