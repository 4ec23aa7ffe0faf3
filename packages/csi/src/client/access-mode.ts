import type { CsiAccessMode, CsiNodeCapabilities } from '@node-agent/contracts';

/** Access mode of a PersistentVolume. */
export type PersistentVolumeAccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany' | 'ReadWriteOncePod';

const MODES: Readonly<Record<PersistentVolumeAccessMode, CsiAccessMode>> = {
  ReadWriteOnce: 'SINGLE_NODE_MULTI_WRITER',
  ReadWriteOncePod: 'SINGLE_NODE_SINGLE_WRITER',
  ReadOnlyMany: 'MULTI_NODE_READER_ONLY',
  ReadWriteMany: 'MULTI_NODE_MULTI_WRITER',
};

/** Access modes that only drivers with the capability `SINGLE_NODE_MULTI_WRITER` know. */
const FINE_MODES: ReadonlySet<CsiAccessMode> = new Set(['SINGLE_NODE_SINGLE_WRITER', 'SINGLE_NODE_MULTI_WRITER']);

/**
 * Returns the CSI access mode for the access mode of a PersistentVolume (`pkg/volume/csi/csi_client.go:
 * asCSIAccessModeV1, asSingleNodeMultiWriterCapableCSIAccessModeV1`).
 */
export function csiAccessMode(
  mode: PersistentVolumeAccessMode,
  capabilities: Pick<CsiNodeCapabilities, 'singleNodeMultiWriter'>,
): CsiAccessMode {
  return supportedAccessMode(MODES[mode], capabilities);
}

/** Returns whether only drivers with the capability `SINGLE_NODE_MULTI_WRITER` know the access mode. */
export function isFineAccessMode(mode: CsiAccessMode): boolean {
  return FINE_MODES.has(mode);
}

/** Returns the access mode if the driver knows it, otherwise the coarser mode that every driver knows. */
export function supportedAccessMode(
  mode: CsiAccessMode,
  { singleNodeMultiWriter }: Pick<CsiNodeCapabilities, 'singleNodeMultiWriter'>,
): CsiAccessMode {
  return isFineAccessMode(mode) && !singleNodeMultiWriter ? 'SINGLE_NODE_WRITER' : mode;
}
