import { type AllocatedDevice, allocatedDevices, type ResourceClaim } from './resource-claim.ts';

/** A device that a driver prepared for a claim. */
export interface PreparedDevice {
  readonly pool: string;
  readonly device: string;
  readonly shareId?: string | undefined;
  /**
   * Names of the requests that the device is for, without subrequests. Empty if the device is for all requests of the
   * claim.
   */
  readonly requestNames: readonly string[];
  /** CDI device IDs: the qualified names that the runtime gets. The list may be empty. */
  readonly cdiDeviceIds: readonly string[];
}

/** A device that a claim uses. */
export type DeviceUse = Pick<AllocatedDevice, 'driver' | 'pool' | 'device' | 'adminAccess' | 'shareID'>;

/** State of a claim on this node (`ClaimInfo` in `pkg/kubelet/cm/dra/claiminfo.go`). */
export interface ClaimInfo {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Pods that refer to the claim. */
  readonly podUids: ReadonlySet<string>;
  /**
   * Prepared devices of the claim, by driver. The list of a driver is empty until the driver has prepared the claim.
   */
  readonly drivers: ReadonlyMap<string, readonly PreparedDevice[]>;
  /**
   * Whether all drivers prepared the claim in this process. After a restart of the kubelet, the drivers are called
   * again.
   */
  readonly isPrepared: boolean;
  /**
   * Devices of the claim according to the API server. `undefined` for a claim from the checkpoint that was not yet read
   * from the API server again.
   */
  readonly allocated: readonly DeviceUse[] | undefined;
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

/** Returns a copy of the claim's state with one more pod. */
export function withPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return info.podUids.has(podUid) ? info : { ...info, podUids: new Set([...info.podUids, podUid]) };
}

/** Returns a copy of the claim's state without the given pod. */
export function withoutPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return { ...info, podUids: new Set([...info.podUids].filter((uid) => uid !== podUid)) };
}

/**
 * Returns a copy of the claim's state with the devices that a driver prepared. They replace the devices of an earlier
 * call.
 */
export function withDevices(info: ClaimInfo, driver: string, devices: readonly PreparedDevice[]): ClaimInfo {
  return { ...info, drivers: new Map([...info.drivers, [driver, devices]]) };
}

/**
 * Returns the devices of a request with their drivers, in the order of the drivers' names. The request '' stands for the
 * whole claim.
 */
export function devicesOfRequest(
  { drivers }: Pick<ClaimInfo, 'drivers'>,
  request: string,
): readonly (readonly [driver: string, device: PreparedDevice])[] {
  const isFor = ({ requestNames }: PreparedDevice): boolean =>
    request === '' ||
    requestNames.length === 0 ||
    requestNames.some((name) => baseRequest(name) === baseRequest(request));
  // The drivers are sorted, because the order in the map depends on whether the claim was read from the checkpoint.
  return [...drivers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([driver, devices]) => devices.filter(isFor).map((device) => [driver, device] as const));
}

/**
 * Returns the CDI device IDs of the requests that a container makes of a claim, without duplicates
 * (`cdiDevicesAsList`).
 */
export function cdiDeviceIds(info: Pick<ClaimInfo, 'drivers'>, requests: Iterable<string>): readonly string[] {
  const ids = [...requests].flatMap((request) =>
    devicesOfRequest(info, request).flatMap(([, device]) => device.cdiDeviceIds),
  );
  return [...new Set(ids)];
}

/** Returns the request name in a reference `request/subrequest` (`BaseRequestRef`). */
function baseRequest(reference: string): string {
  return reference.split('/', 1)[0] ?? '';
}
