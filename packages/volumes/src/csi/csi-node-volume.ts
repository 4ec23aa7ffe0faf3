import type { Pod } from '@node-agent/pod-spec';
import { isReadWriteOncePod } from '../claims/claim-rule.ts';
import { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { csiUniqueName } from './csi-names.ts';
import { csiSource } from './csi-source.ts';
import { isAttachRequired } from './driver-rule.ts';

/**
 * Returns a pod's persistent CSI volume with its unique name, and whether a controller attaches the volume
 * (`CanAttach`).
 * @throws VolumeError
 */
export async function csiNodeVolume(
  inputs: CsiInputs,
  pod: Pod,
  spec: VolumeSpec,
  signal: AbortSignal,
): Promise<ResolvedVolume> {
  const resolved = podVolume(spec);
  const source = csiSource(spec, pod);
  const csiDriver = await inputs.csiDriver(source.driver, 'plugin.CanAttach failed', signal);
  const { fsGroup } = pod.spec.securityContext ?? {};
  const node: NodeVolume = {
    ...{ uniqueName: csiUniqueName(source), name: resolved.directoryName, spec },
    ...{ exclusive: isReadWriteOncePod(spec), attachable: isAttachRequired(csiDriver) },
    ...(fsGroup !== undefined && { fsGroup }),
  };
  return { ...resolved, node };
}
