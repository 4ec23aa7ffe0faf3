import { dirname, join } from 'node:path';
import type { CsiPublishRequest } from '@node-agent/contracts';
import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { BlockMap, BlockMapper } from '../block/block-mapper.ts';
import type { BlockPaths } from '../block/block-paths.ts';
import { VolumeError } from '../errors.ts';
import type {
  MountedVolume,
  NodeVolumePlugin,
  SetUpState,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from '../manager/plugin.ts';
import type { NodeVolume, ResolvedVolume, VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';
import type { AttachLimit } from './attach-limit.ts';
import { CsiBlockStaging } from './csi-block-staging.ts';
import type { CsiCalls } from './csi-calls.ts';
import { expandCsiVolume } from './csi-expansion.ts';
import type { CsiIdentities } from './csi-identities.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { CSI_PLUGIN, type CsiIdentity } from './csi-names.ts';
import { csiNodeVolume } from './csi-node-volume.ts';
import type { CsiPluginOptions } from './csi-plugin.ts';
import { publishKey } from './csi-publishing.ts';
import { csiAccessMode, csiSource } from './csi-source.ts';
import { csiUsage } from './csi-usage.ts';
import { publishRequest } from './publish-request.ts';
import { unpublishBlock } from './unpublish-block.ts';
import { readVolumeData } from './volume-data.ts';

/** Dependencies of {@link CsiBlockPlugin}. */
export interface CsiBlockComponents {
  readonly fs: Pick<
    FileSystem,
    'open' | 'mkdir' | 'readdir' | 'remove' | 'removeAll' | 'realpath' | 'writeFileAtomic' | 'exists'
  >;
  readonly logger: Logger;
  readonly paths: BlockPaths;
  readonly calls: CsiCalls;
  readonly inputs: CsiInputs;
  readonly attachLimit: AttachLimit;
  readonly identities: CsiIdentities;
  readonly mapper: BlockMapper;
}

/** Operation in the error message of a missing secret (`publishVolumeForBlock`). */
const PUBLISH_STEP = `${CSI_PLUGIN}: blockMapper.publishVolumeForBlock`;

/** Plugin for persistent CSI volumes with `volumeMode: Block` (`pkg/volume/csi/csi_block.go`). */
export class CsiBlockPlugin implements VolumePlugin {
  readonly name: string = CSI_PLUGIN;
  readonly isBlock = true;
  readonly measuresElsewhere = true;
  readonly node: NodeVolumePlugin;
  readonly #components: CsiBlockComponents;
  readonly #showsHealth: boolean;

  constructor(components: CsiBlockComponents, { nodeName, showsHealth = false }: CsiPluginOptions) {
    this.#components = components;
    this.#showsHealth = showsHealth;
    this.node = new CsiBlockStaging(components, nodeName);
  }

  canSupport({ persistent }: VolumeSpec): boolean {
    return persistent?.spec?.csi !== undefined && persistent.spec.volumeMode === 'Block';
  }

  async resolve(pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<ResolvedVolume> {
    return await csiNodeVolume(this.#components.inputs, pod, spec, signal);
  }

  requiresRepublish({ persistent }: ResolvedVolume): boolean {
    return this.#components.inputs.requiresRepublish(persistent?.spec?.csi?.driver ?? '');
  }

  unanswered(podUid: string, directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined {
    const { calls } = this.#components;
    return calls.unanswered(publishKey(podUid, directoryName)) ?? (node && calls.unanswered(node.uniqueName));
  }

  async setUp(
    pod: Pod,
    volume: ResolvedVolume,
    _context: MountContext,
    signal: AbortSignal,
    { ready, isReconstructed }: SetUpState,
  ): Promise<MountedVolume> {
    const { calls, inputs, mapper, fs } = this.#components;
    const { directoryName } = volume;
    const { uid } = pod.metadata;
    const source = csiSource(volume, pod);
    const key = publishKey(uid, directoryName);
    const at = this.#mapOf(uid, directoryName);
    const step = 'blockMapper.MapPodDevice failed';
    const csiDriver = await inputs.csiDriver(source.driver, step, signal);
    const driver = calls.driver(source.driver, `${step} to get CSI client`);
    const can = await calls.make(key, driver, 'NodeGetCapabilities', () => driver.capabilities(signal), signal);
    const targetPath = this.#publishPath(uid, directoryName);
    const request: CsiPublishRequest = {
      ...(await publishRequest(inputs, { pod, source, csiDriver, can }, signal, PUBLISH_STEP)),
      ...{ targetPath, stagingTargetPath: this.#components.paths.nodeDir('staging', directoryName) },
      capability: { access: { type: 'block' }, accessMode: csiAccessMode(source, can.singleNodeMultiWriter) },
    };
    if (ready === undefined) await mapper.link(at, targetPath);
    await fs.mkdir(dirname(targetPath), { mode: 0o750 });
    try {
      await calls.make(key, driver, 'NodePublishVolume', () => driver.publishVolume(request, signal), signal);
    } catch (error) {
      const isFirst = ready === undefined && !isReconstructed;
      if (isFirst && VolumeError.is(error) && error.effect === 'none') await mapper.unlink(at);
      throw error;
    }
    await mapper.map(targetPath, at, signal);
    return { hostPath: at.podLink, readOnly: source.readOnly, selinuxRelabel: false };
  }

  async expand(mounted: MountedVolume, volume: ResolvedVolume, bytes: bigint, signal: AbortSignal): Promise<void> {
    const { fs, paths } = this.#components;
    const places = {
      ...{ key: volume.node?.uniqueName ?? mounted.hostPath, isBlock: true },
      volumePath: await fs.realpath(mounted.hostPath),
      stagingTargetPath: paths.nodeDir('staging', volume.directoryName),
    };
    await expandCsiVolume(this.#components, csiSource(volume, undefined), places, bytes, signal);
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal, pod: Pod | undefined): Promise<void> {
    const { calls, mapper } = this.#components;
    const at = this.#mapOf(podUid, directoryName);
    await mapper.unmap(at, signal);
    const identity = await this.#identity(podUid, directoryName, pod, signal);
    if (identity !== undefined) {
      const driver = calls.driver(identity.driver, 'blockMapper.UnmapPodDevice failed to get CSI client');
      const key = publishKey(podUid, directoryName);
      const published = { podUid, name: directoryName, handle: identity.handle, key };
      await unpublishBlock(this.#components, driver, published, signal);
    }
    await mapper.unlink(at);
  }

  /** Returns the usage that the driver reports; `undefined` if the driver reports none (`GET_VOLUME_STATS`). */
  async usage(_mounted: MountedVolume, volume: ResolvedVolume, pod: Pod): Promise<VolumeMeasurement | undefined> {
    const { mapDir, podUid } = this.#mapOf(pod.metadata.uid, volume.directoryName);
    return await csiUsage(this.#components.calls, csiSource(volume, pod), join(mapDir, podUid), this.#showsHealth);
  }

  isRemoving(): boolean {
    return false;
  }

  /**
   * Returns driver and volume ID of the pod's volume; `undefined` if the volume is not published to the pod. @throws
   * VolumeError `StillMounted` if the volume is published and its driver is unknown
   */
  async #identity(
    podUid: string,
    directoryName: string,
    pod: Pod | undefined,
    signal: AbortSignal,
  ): Promise<CsiIdentity | undefined> {
    const { fs, paths, identities } = this.#components;
    const directory = paths.nodeDir(directoryName, 'data');
    const data = await readVolumeData(fs, directory).catch((error: unknown) => VolumeError.from(error));
    if (data !== undefined && !VolumeError.is(data)) return { driver: data.driverName, handle: data.volumeHandle };
    if (!(await fs.exists(this.#publishPath(podUid, directoryName)))) return undefined;
    const found = await identities.ofName(podUid, directoryName, pod, signal);
    if (found !== undefined) return found;
    const why = data?.message ?? `${directory}: the volume data file is missing`;
    throw new VolumeError('StillMounted', `${CSI_PLUGIN}: driver of the published device is unknown: ${why}`, data);
  }

  #publishPath(podUid: string, directoryName: string): string {
    return this.#components.paths.nodeDir('publish', directoryName, podUid);
  }

  #mapOf(podUid: string, directoryName: string): BlockMap {
    const { paths } = this.#components;
    return { mapDir: paths.nodeDir(directoryName, 'dev'), podUid, podLink: paths.podLink(podUid, directoryName) };
  }
}
