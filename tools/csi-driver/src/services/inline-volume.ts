import type { CsiVolumeCapability } from '@node-agent/contracts';
import { parseSize } from '../options/size.ts';
import { backingFor } from '../rules/capabilities.ts';
import { type CapacityLimits, volumeSize } from '../rules/capacity.ts';
import { isRefusal, type Refusal, refusal } from '../rules/refusal.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Entry of the volume context with which the kubelet marks inline volumes (`podInfoOnMount`). */
const EPHEMERAL_KEY = 'csi.storage.k8s.io/ephemeral';
/** Prefix of the entries that the kubelet adds to the volume context. */
const KUBELET_PREFIX = 'csi.storage.k8s.io/';
/** Attribute of an inline volume with its size, such as `64Mi`. */
const SIZE_KEY = 'size';

/** Returns the inline volume that a publish request creates. A volume that is not inline does not exist. */
export function newInlineVolume(
  { volumeId, volumeContext }: { readonly volumeId: string; readonly volumeContext: Readonly<Record<string, string>> },
  capability: CsiVolumeCapability,
  { maxVolumeBytes }: CapacityLimits,
): Omit<VolumeRecord, 'sequence'> | Refusal {
  if (volumeContext[EPHEMERAL_KEY] !== 'true') {
    return refusal('NOT_FOUND', `volume ${JSON.stringify(volumeId)} does not exist`);
  }
  const backing = backingFor([capability], volumeContext);
  if (isRefusal(backing)) return backing;
  if (backing.backing === 'block') return refusal('INVALID_ARGUMENT', 'an inline volume cannot be a block device');
  const requiredBytes = sizeOf(volumeContext[SIZE_KEY]);
  if (isRefusal(requiredBytes)) return requiredBytes;
  const sizeBytes = volumeSize({ requiredBytes, limitBytes: 0 }, maxVolumeBytes);
  if (isRefusal(sizeBytes)) return sizeBytes;
  return {
    ...{ id: volumeId, name: `inline-${volumeId}`, sizeBytes, ...backing, kind: '' },
    // The kubelet's own entries may contain service account tokens, which do not belong into the state file.
    parameters: Object.fromEntries(Object.entries(volumeContext).filter(([key]) => !key.startsWith(KUBELET_PREFIX))),
    ...{ mutableParameters: {}, isEphemeral: true, isFormatted: false, mustGrow: false, staged: [], published: [] },
  };
}

function sizeOf(text: string | undefined): number | Refusal {
  if (text === undefined) return 0;
  try {
    return parseSize(text);
  } catch (error) {
    return refusal('INVALID_ARGUMENT', `attribute size: ${error instanceof Error ? error.message : String(error)}`);
  }
}
