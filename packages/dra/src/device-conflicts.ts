import { type ClaimInfo, claimKey } from './claim-info.ts';
import type { AllocatedDevice } from './resource-claim.ts';

/** A device that is allocated to one claim and held by another claim on this node. */
export interface DeviceConflict {
  /** Name of the device in the form `driver/pool/device`. */
  readonly device: string;
  readonly holder: ClaimInfo;
  /** Whether the devices of the holder are known from the API server, and not only from the checkpoint. */
  readonly isCertain: boolean;
}

type Use = Pick<AllocatedDevice, 'driver' | 'pool' | 'device' | 'adminAccess' | 'shareID'>;

/**
 * Returns the devices of a claim that other claims hold. A device may be used by two claims only if one of them has it
 * with admin access, or if both have a share of it. The scheduler enforces that rule. But when a device is allocated
 * again, a pod that was deleted by force may still run on this node with the device.
 */
export function deviceConflicts(
  claim: Pick<ClaimInfo, 'namespace' | 'name'>,
  allocated: readonly AllocatedDevice[],
  others: Iterable<ClaimInfo>,
): readonly DeviceConflict[] {
  const conflicts: DeviceConflict[] = [];
  const wanted = allocated.filter(({ adminAccess }) => adminAccess !== true);
  for (const holder of others) {
    if (claimKey(holder) === claimKey(claim)) continue;
    const uses = holder.allocated ?? preparedUses(holder);
    const taken = wanted.find((one) => uses.some((use) => excludes(one, use)));
    if (taken === undefined) continue;
    const device = `${taken.driver}/${taken.pool}/${taken.device}`;
    conflicts.push({ device, holder, isCertain: holder.allocated !== undefined });
  }
  return conflicts;
}

function preparedUses({ drivers }: ClaimInfo): readonly Use[] {
  return [...drivers].flatMap(([driver, devices]) =>
    devices.map(({ pool, device, shareId }) => ({
      ...{ driver, pool, device },
      ...(shareId !== undefined && { shareID: shareId }),
    })),
  );
}

function excludes(one: Use, other: Use): boolean {
  if (one.driver !== other.driver || one.pool !== other.pool || one.device !== other.device) return false;
  if (other.adminAccess === true) return false;
  const areShares = one.shareID !== undefined && other.shareID !== undefined;
  return !areShares || one.shareID === other.shareID;
}
