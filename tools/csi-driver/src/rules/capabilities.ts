import type { CsiVolumeCapability } from '@node-agent/contracts';
import type { BackingType } from '../state/records.ts';
import { type Refusal, refusal } from './refusal.ts';

/** File systems that the driver makes on images. */
const FILE_SYSTEMS: readonly string[] = ['ext3', 'ext4', 'xfs'];

/** Parameter of a storage class that selects the file system if the volume capability names none. */
const FS_TYPE_PARAMETER = 'fsType';

/**
 * Returns what holds the content of a new volume: an image for a block device, an image for a named file system, and a
 * directory otherwise.
 */
export function backingFor(
  capabilities: readonly CsiVolumeCapability[],
  parameters: Readonly<Record<string, string>>,
): { readonly backing: BackingType; readonly fsType: string } | Refusal {
  const types = new Set(capabilities.map(({ access }) => access.type));
  if (types.size > 1) return refusal('INVALID_ARGUMENT', 'a volume is used as a block device or mounted, not both');
  if (types.has('block')) return { backing: 'block', fsType: '' };
  const named = capabilities.flatMap(({ access }) => (access.type === 'mount' && access.fsType ? [access.fsType] : []));
  const fsTypes = [...new Set(named.length > 0 ? named : [parameters[FS_TYPE_PARAMETER] ?? ''])];
  const [fsType = ''] = fsTypes;
  if (fsTypes.length > 1) return refusal('INVALID_ARGUMENT', `more than one file system: ${fsTypes.join(', ')}`);
  if (fsType === '') return { backing: 'directory', fsType };
  if (!FILE_SYSTEMS.includes(fsType)) {
    return refusal('INVALID_ARGUMENT', `file system ${fsType} must be one of ${FILE_SYSTEMS.join(', ')}`);
  }
  return { backing: 'file-system', fsType };
}

/** Returns why a volume cannot be used with a capability; `undefined` if it can. */
export function capabilityProblem(
  volume: { readonly backing: BackingType; readonly fsType: string },
  { access }: CsiVolumeCapability,
): string | undefined {
  if (access.type === 'block') {
    return volume.backing === 'block' ? undefined : 'the volume is mounted, and cannot be used as a block device';
  }
  if (volume.backing === 'block') return 'the volume is a block device, and cannot be mounted';
  if (access.fsType !== '' && access.fsType !== volume.fsType) {
    return volume.backing === 'directory'
      ? `the volume is a directory, and has no file system ${access.fsType}`
      : `the volume has the file system ${volume.fsType}, not ${access.fsType}`;
  }
  return undefined;
}

/** Returns whether two capabilities are equal, which decides whether a call is a repetition of an earlier one. */
export function sameCapability(one: CsiVolumeCapability, other: CsiVolumeCapability): boolean {
  if (one.accessMode !== other.accessMode) return false;
  if (one.access.type === 'block' || other.access.type === 'block') return one.access.type === other.access.type;
  return (
    one.access.fsType === other.access.fsType &&
    one.access.mountFlags.join('\0') === other.access.mountFlags.join('\0') &&
    (one.access.volumeMountGroup ?? '') === (other.access.volumeMountGroup ?? '')
  );
}
