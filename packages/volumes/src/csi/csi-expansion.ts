import type { CsiAccessType } from '@node-agent/contracts';
import { VolumeError } from '../errors.ts';
import type { CsiCalls } from './csi-calls.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { type CsiSource, csiAccessMode } from './csi-source.ts';
import { codeOf, isInfeasibleCode } from './driver-codes.ts';

/** Paths and name of a volume to expand. */
export interface ExpandedPlaces {
  /** Unique name of the volume on the node, under which CsiCalls records the call in progress. */
  readonly key: string;
  readonly volumePath: string;
  readonly stagingTargetPath: string;
  readonly isBlock: boolean;
}

/**
 * Expands a CSI volume on this node (`NodeExpand` of `pkg/volume/csi/expander.go`). @throws VolumeError whose cause is
 * the driver's error; `ExpandUnsupported` if the driver does not expand volumes on nodes
 */
export async function expandCsiVolume(
  { calls, inputs }: { readonly calls: CsiCalls; readonly inputs: CsiInputs },
  source: CsiSource,
  { key, volumePath, stagingTargetPath, isBlock }: ExpandedPlaces,
  requiredBytes: bigint,
  signal: AbortSignal,
): Promise<void> {
  const driver = calls.driver(source.driver);
  const can = await calls
    .make(key, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal)
    .catch((error: unknown) => {
      signal.throwIfAborted();
      throw reworded(error, 'Expander.NodeExpand failed to check if node supports expansion :');
    });
  if (!can.expandVolume) {
    const why = `NodeExpand is not supported by the CSI driver ${source.driver}`;
    throw new VolumeError('ExpandUnsupported', why, undefined, { effect: 'none' });
  }
  const secrets = await expandSecrets(inputs, source, signal);
  const access: CsiAccessType = isBlock
    ? { type: 'block' }
    : { type: 'mount', fsType: source.fsType, mountFlags: source.mountOptions };
  const request = {
    ...{ volumeId: source.handle, volumePath, requiredBytes, secrets },
    ...(can.stageUnstage && { stagingTargetPath }),
    ...(source.isMigrated && { isMigrated: true }),
    capability: { access, accessMode: csiAccessMode(source, can.singleNodeMultiWriter) },
  };
  const call = (): Promise<bigint> => driver.expandVolume(request, signal);
  await calls.make(key, driver, 'NodeExpandVolume', call, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const isInfeasible = isInfeasibleCode(codeOf(VolumeError.from(error)));
    throw reworded(error, `Expander.NodeExpand failed to expand the volume${isInfeasible ? '' : ' :'}`);
  });
}

/**
 * Reads the secret for the expansion. A failure is final, as in upstream, so that the PVC shows the reason: the volume
 * stays as it is until a user corrects the secret. @throws VolumeError
 */
async function expandSecrets(
  inputs: CsiInputs,
  { expandSecret }: CsiSource,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const step = 'expander.NodeExpand';
  return await inputs.secrets(expandSecret, 'NodeExpandSecretRef', signal, step).catch((error: unknown) => {
    signal.throwIfAborted();
    const { code, message, cause } = VolumeError.from(error);
    throw new VolumeError(code, message, cause, { effect: 'none' });
  });
}

function reworded(error: unknown, step: string): VolumeError {
  const { code, message, effect, cause } = VolumeError.from(error);
  return new VolumeError(code, `${step} ${message}`, cause, { effect });
}
