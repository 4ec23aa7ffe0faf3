import type { CsiDriverClient } from '@node-agent/contracts';
import { errorText } from '@node-agent/telemetry';
import type { BlockPaths } from '../block/block-paths.ts';
import { VolumeError } from '../errors.ts';
import type { CsiCalls } from './csi-calls.ts';
import { CSI_PLUGIN } from './csi-names.ts';

/** A block volume that is, or may be, published to a pod. */
interface PublishedBlock {
  readonly podUid: string;
  /** Name of the volume's directories. */
  readonly name: string;
  /** Volume ID of the driver. */
  readonly handle: string;
  /** Key under which the call is recorded while it has no response; see `CsiCalls.make`. */
  readonly key: string;
}

/**
 * Calls NodeUnpublishVolume for a block volume of a pod (`unpublishVolumeForBlock` in `pkg/volume/csi/csi_block.go`).
 * @throws VolumeError `DriverFailed`; the signal's reason
 */
export async function unpublishBlock(
  { calls, paths }: { readonly calls: CsiCalls; readonly paths: BlockPaths },
  driver: CsiDriverClient,
  { podUid, name, handle, key }: PublishedBlock,
  signal: AbortSignal,
): Promise<void> {
  const call = (): Promise<void> => driver.unpublishVolume(handle, paths.nodeDir('publish', name, podUid), signal);
  await calls.make(key, driver, 'NodeUnpublishVolume', call, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const why = `${CSI_PLUGIN}: blockMapper.unpublishVolumeForBlock failed: ${errorText(error)}`;
    throw new VolumeError('DriverFailed', why, VolumeError.from(error).cause);
  });
}
