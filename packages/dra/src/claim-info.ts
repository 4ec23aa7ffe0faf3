import { type AllocatedDevice, allocatedDevices, type ResourceClaim } from './resource-claim.ts';

/** A device that a driver prepared for a claim. */
export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  readonly shareId?: string | undefined;
  /** Requests of the claim that the device is for, without subrequests; empty if it is for all. */
  readonly requestNames: readonly string[];
  /** Qualified names for the runtime; may be empty. */
  readonly cdiDeviceIds: readonly string[];
}

/** State of a claim on this node (`ClaimInfo` in `pkg/kubelet/cm/dra/claiminfo.go`). */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Pods that refer to the claim. */
  readonly podUids: ReadonlySet<string>;
  /** Prepared devices of each driver of the claim; empty before the driver has prepared the claim. */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
  /** Whether all drivers prepared the claim in this process. After a restart, drivers are called again. */
  readonly isPrepared: boolean;
  /** Devices of the claim according to the API server; `undefined` for a claim from the checkpoint. */
  readonly allocated: readonly AllocatedDevice[] | undefined;
}

/** Returns the key of a claim in the cache. */
export function claimKey({ namespace, name }: Pick<ClaimInfo, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** Returns the state of an allocated claim that no driver has prepared yet. */
export function newClaimInfo(claim: ResourceClaim): ClaimInfo {
  const { uid = '', name = '', namespace = '' } = claim.metadata;
  const allocated = allocatedDevices(claim) ?? [];
  const drivers = new Map(allocated.map(({ driver }) => [driver, []]));
  return { ...{ uid, name, namespace, allocated, drivers }, podUids: new Set(), isPrepared: false };
}

/** Returns the claim with one more pod. */
export function withPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return info.podUids.has(podUid) ? info : { ...info, podUids: new Set([...info.podUids, podUid]) };
}

/** Returns the claim without a pod. */
export function withoutPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return { ...info, podUids: new Set([...info.podUids].filter((uid) => uid !== podUid)) };
}

/** Returns the claim with the devices that a driver prepared, instead of those of an earlier call. */
export function withDevices(info: ClaimInfo, driver: string, devices: readonly PreparedDevice[]): ClaimInfo {
  return { ...info, drivers: new Map([...info.drivers, [driver, devices]]) };
}

/** Returns the devices of a request with their drivers; the empty request stands for all devices of the claim. */
export function devicesOfRequest(
  { drivers }: Pick<ClaimInfo, 'drivers'>,
  request: string,
): readonly (readonly [driver: string, device: PreparedDevice])[] {
  const isFor = ({ requestNames }: PreparedDevice): boolean =>
    request === '' ||
    requestNames.length === 0 ||
    requestNames.some((name) => baseRequest(name) === baseRequest(request));
  return [...drivers].flatMap(([driver, devices]) => devices.filter(isFor).map((device) => [driver, device] as const));
}

/** Returns the CDI device IDs of a container's requests of a claim, without duplicates (`cdiDevicesAsList`). */
export function cdiDeviceIds(info: Pick<ClaimInfo, 'drivers'>, requests: Iterable<string>): readonly string[] {
  const ids = [...requests].flatMap((request) =>
    devicesOfRequest(info, request).flatMap(([, device]) => device.cdiDeviceIds),
  );
  return [...new Set(ids)];
}

/** Returns the request of a reference `request/subrequest` (`BaseRequestRef`). */
function baseRequest(reference: string): string {
  return reference.split('/', 1)[0] ?? '';
}
