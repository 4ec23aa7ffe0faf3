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
  /** Drivers that may have prepared the claim: they were called to prepare it, and have not unprepared it since. */
  readonly heldBy: ReadonlySet<string>;
  /**
   * Drivers that have prepared the claim in this process. After a restart of the kubelet, all drivers are called again.
   */
  readonly preparedBy: ReadonlySet<string>;
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
  const nothing = { podUids: new Set<string>(), heldBy: new Set<string>(), preparedBy: new Set<string>() };
  return { ...{ uid, name, namespace, allocated, drivers }, ...nothing };
}

/** Returns whether all drivers of a claim have prepared it in this process. */
export function isPrepared({ drivers, preparedBy }: Pick<ClaimInfo, 'drivers' | 'preparedBy'>): boolean {
  return [...drivers.keys()].every((driver) => preparedBy.has(driver));
}

/** Returns a copy of the claim's state with one more pod. */
export function withPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return info.podUids.has(podUid) ? info : { ...info, podUids: withMember(info.podUids, podUid) };
}

/** Returns a copy of the claim's state without the given pod. */
export function withoutPod(info: ClaimInfo, podUid: string): ClaimInfo {
  return { ...info, podUids: withoutMember(info.podUids, podUid) };
}

/** Returns a copy of the claim's state for a driver that is about to prepare the claim. */
export function preparing(info: ClaimInfo, driver: string): ClaimInfo {
  return { ...info, heldBy: withMember(info.heldBy, driver) };
}

/**
 * Returns a copy of the claim's state with the devices that a driver prepared. They replace the devices of an earlier
 * call.
 */
export function withDevices(info: ClaimInfo, driver: string, devices: readonly PreparedDevice[]): ClaimInfo {
  const drivers = new Map([...info.drivers, [driver, devices]]);
  return { ...info, drivers, preparedBy: withMember(info.preparedBy, driver) };
}

/**
 * Returns a copy of the claim's state for a driver that is about to unprepare the claim. The claim no longer counts as
 * prepared, even if the call fails: a pod that shares the claim later must prepare it again.
 */
export function unpreparing(info: ClaimInfo, driver: string): ClaimInfo {
  return { ...info, preparedBy: withoutMember(info.preparedBy, driver) };
}

/** Returns a copy of the claim's state for a driver that has unprepared the claim. */
export function withoutDevices(info: ClaimInfo, driver: string): ClaimInfo {
  const drivers = new Map([...info.drivers, [driver, []]]);
  return { ...info, drivers, heldBy: withoutMember(info.heldBy, driver) };
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

function withMember(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  return new Set([...set, member]);
}

function withoutMember(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  return new Set([...set].filter((other) => other !== member));
}
