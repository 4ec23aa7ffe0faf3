import { type ClaimInfo, claimKey, type DeviceUse } from './claim-info.ts';

/** A device that is allocated to one claim and held by another claim on this node. */
export interface DeviceConflict {
  /** Name of the device in the form `driver/pool/device`. */
  readonly device: string;
  readonly holder: ClaimInfo;
}

type Claim = Pick<ClaimInfo, 'namespace' | 'name' | 'allocated'>;

/**
 * Returns a device of a claim that another claim holds, or `undefined` if there is none. A device may be used by two
 * claims only if one of them has it with admin access, or if both have a share of it. The scheduler enforces that rule.
 * But when a device is allocated again, a pod that was deleted by force may still run on this node with the device.
 */
export function deviceConflict(claim: Claim, others: Iterable<ClaimInfo>): DeviceConflict | undefined {
  const wanted = exclusiveDevices(claim);
  for (const holder of others) {
    if (claimKey(holder) === claimKey(claim)) continue;
    const uses = holder.allocated ?? listedDevices(holder);
    const taken = wanted.find((one) => uses.some((use) => excludes(one, use)));
    if (taken !== undefined) return { device: `${taken.driver}/${taken.pool}/${taken.device}`, holder };
  }
  return undefined;
}

/**
 * Returns the other claims that may hold devices of a claim, but whose devices were not read from the API server since the
 * kubelet was started. The checkpoint has only the devices that a driver listed in its answer. A driver may list fewer
 * devices than are allocated, and the list of an interrupted preparation is empty.
 */
export function unknownHolders(claim: Claim, others: Iterable<ClaimInfo>): readonly ClaimInfo[] {
  const drivers = new Set(exclusiveDevices(claim).map(({ driver }) => driver));
  return [...others].filter(
    (other) =>
      other.allocated === undefined &&
      claimKey(other) !== claimKey(claim) &&
      [...other.drivers.keys()].some((driver) => drivers.has(driver)),
  );
}

/**
 * Returns the devices that a claim of the checkpoint holds. They are the devices that are allocated to the claim now, and
 * those that drivers listed: the claim may have been allocated again since its devices were prepared.
 */
export function restoredDevices(
  allocated: readonly DeviceUse[],
  info: Pick<ClaimInfo, 'drivers'>,
): readonly DeviceUse[] {
  const listed = listedDevices(info).filter((one) => !allocated.some((other) => isSameDevice(one, other)));
  return [...allocated, ...listed];
}

/** Returns the devices of a claim that no other claim may use at the same time, unless both have shares. */
function exclusiveDevices({ allocated = [] }: Claim): readonly DeviceUse[] {
  return allocated.filter(({ adminAccess }) => adminAccess !== true);
}

/** Returns the devices that drivers listed when they prepared a claim. */
function listedDevices({ drivers }: Pick<ClaimInfo, 'drivers'>): readonly DeviceUse[] {
  return [...drivers].flatMap(([driver, devices]) =>
    devices.map(({ pool, device, shareId }) => ({
      ...{ driver, pool, device },
      ...(shareId !== undefined && { shareID: shareId }),
    })),
  );
}

function excludes(one: DeviceUse, other: DeviceUse): boolean {
  if (!isSameDevice(one, other) || other.adminAccess === true) return false;
  const areShares = one.shareID !== undefined && other.shareID !== undefined;
  return !areShares || one.shareID === other.shareID;
}

function isSameDevice(one: DeviceUse, other: DeviceUse): boolean {
  return one.driver === other.driver && one.pool === other.pool && one.device === other.device;
}
