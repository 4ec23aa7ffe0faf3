import { join, relative } from 'node:path';
import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import type { ClaimSource } from '../claims/claim-source.ts';
import { podVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import { csiForm, inlineSpec } from '../migration/translation.ts';
import { type Mounter, realDirectory } from '../mount/mounter.ts';
import { type CsiIdentity, handleHash, inlineHandle } from './csi-names.ts';
import { type CsiPaths, GLOBAL_MOUNT } from './csi-paths.ts';
import { readVolumeData } from './volume-data.ts';

/** Dependencies of {@link CsiIdentities}. */
export interface CsiIdentitiesComponents {
  readonly fs: Pick<FileSystem, 'open' | 'realpath'>;
  readonly mounter: Pick<Mounter, 'mountsOfSame'>;
  readonly paths: Pick<CsiPaths, 'stagedDir'>;
  readonly logger: Logger;
  /** Reads persistent volumes; `undefined` without an API server. */
  readonly volumes: Pick<ClaimSource, 'getPersistentVolume'> | undefined;
}

/**
 * Finds the driver and the volume ID of a volume whose data file is missing or damaged, so that its pod can terminate.
 * Upstream retries for ever (`NewUnmounter` of `pkg/volume/csi/csi_plugin.go`).
 */
export class CsiIdentities {
  readonly #components: CsiIdentitiesComponents;

  constructor(components: CsiIdentitiesComponents) {
    this.#components = components;
  }

  /**
   * Finds the volume that is staged on the node and shows the same directory as the mount at `path`. Returns
   * `undefined` unless exactly one staged volume matches. @throws a system error
   */
  async ofStaged(path: string): Promise<CsiIdentity | undefined> {
    const { fs, mounter, paths } = this.#components;
    const real = await realDirectory(fs, path);
    const stagedDir = await realDirectory(fs, paths.stagedDir);
    if (real === undefined || stagedDir === undefined) return undefined;
    const found = new Map<string, CsiIdentity>();
    for (const point of await mounter.mountsOfSame(real)) {
      const [driver = '', hash = '', last, ...more] = relative(stagedDir, point).split('/');
      if (last !== GLOBAL_MOUNT || more.length > 0) continue;
      const data = await readVolumeData(fs, join(stagedDir, driver, hash)).catch(() => undefined);
      if (data?.driverName !== driver || handleHash(data.volumeHandle) !== hash) continue;
      found.set(`${driver}/${hash}`, { driver, handle: data.volumeHandle });
    }
    return found.size === 1 ? [...found.values()][0] : undefined;
  }

  /**
   * Finds a volume by the name of its directory: an inline volume in the pod's spec, a persistent volume in the API
   * server. Returns `undefined` if the volume cannot be determined now. @throws the signal's reason
   */
  async ofName(
    podUid: string,
    directoryName: string,
    pod: Pod | undefined,
    signal: AbortSignal,
  ): Promise<CsiIdentity | undefined> {
    const inline = pod?.spec.volumes?.find(({ name, csi }) => name === directoryName && csi !== undefined);
    if (inline?.csi !== undefined) return { driver: inline.csi.driver, handle: inlineHandle(podUid, directoryName) };
    const { volumes, logger } = this.#components;
    try {
      const found = inTreeVolume(pod, directoryName) ?? (await volumes?.getPersistentVolume(directoryName, signal));
      const csi = found && csiForm(found).spec?.csi;
      return csi && { driver: csi.driver, handle: csi.volumeHandle };
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err: errorText(err), volume: directoryName }, 'Failed to read the persistent volume to unmount');
      return undefined;
    }
  }
}

/**
 * Returns the CSI form of the pod's in-tree inline volume with this directory; `undefined` if the pod has no such
 * volume.
 */
function inTreeVolume(pod: Pod | undefined, directoryName: string): VolumeSpec['persistent'] {
  for (const volume of pod?.spec.volumes ?? []) {
    const resolved = podVolume(inlineSpec(volume, pod?.metadata.namespace ?? ''));
    if (resolved.persistent !== undefined && resolved.directoryName === directoryName) return resolved.persistent;
  }
  return undefined;
}
