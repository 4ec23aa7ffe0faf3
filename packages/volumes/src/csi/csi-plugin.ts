import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type { CsiDrivers } from '@node-agent/contracts';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { BlockMapper } from '../block/block-mapper.ts';
import { BlockPaths } from '../block/block-paths.ts';
import type { LoopDevices } from '../block/loop-devices.ts';
import type { ClaimSource } from '../claims/claim-source.ts';
import { VolumeError } from '../errors.ts';
import type {
  MountedVolume,
  NodeVolumePlugin,
  SetUpState,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from '../manager/plugin.ts';
import {
  type NodeVolume,
  podVolume,
  type ResolvedVolume,
  specName,
  type VolumeSpec,
} from '../manager/resolved-volume.ts';
import { giveToGroup } from '../mount/fs-group.ts';
import type { FsGroup, MountContext } from '../mount/mount-context.ts';
import { type Mounter, realDirectory } from '../mount/mounter.ts';
import type { PodPaths } from '../paths/pod-paths.ts';
import { AttachLimit } from './attach-limit.ts';
import { CsiBlockPlugin } from './csi-block-plugin.ts';
import { CsiCalls } from './csi-calls.ts';
import { expandCsiVolume } from './csi-expansion.ts';
import { CsiIdentities } from './csi-identities.ts';
import { CsiInputs } from './csi-inputs.ts';
import { CSI_PLUGIN } from './csi-names.ts';
import { csiNodeVolume } from './csi-node-volume.ts';
import type { CsiObjects, CsiTokens } from './csi-objects.ts';
import { CsiPaths } from './csi-paths.ts';
import { CsiPublishing, publishKey } from './csi-publishing.ts';
import { csiSource } from './csi-source.ts';
import { CsiStaging } from './csi-staging.ts';
import { csiUsage } from './csi-usage.ts';
import { takesFsGroup } from './driver-rule.ts';

/** Dependencies of {@link CsiPlugin}. */
export interface CsiPluginComponents {
  readonly fs: Pick<
    FileSystem,
    | 'open'
    | 'mkdir'
    | 'readdir'
    | 'lstat'
    | 'exists'
    | 'remove'
    | 'removeAll'
    | 'realpath'
    | 'readlink'
    | 'symlink'
    | 'writeFile'
    | 'writeFileAtomic'
    | 'giveToGroup'
  >;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'mountsOfSame' | 'takesLabels' | 'bind' | 'unmount'>;
  /** Loop devices, which hold block volumes open. If absent, block volumes are refused. */
  readonly loops?: LoopDevices;
  readonly paths: PodPaths;
  /** The drivers that are registered on this node. */
  readonly drivers: CsiDrivers;
  readonly objects: CsiObjects;
  readonly tokens: CsiTokens;
  /**
   * Persistent volumes of the API server, read if the data file of a volume is missing or damaged. If absent, the pod of
   * such a volume terminates only if the volume is staged.
   */
  readonly volumes?: Pick<ClaimSource, 'getPersistentVolume'>;
  /**
   * Queries a driver's maximum number of volumes on this node again, and reports it. Called when a volume could not be
   * attached because the node has too many volumes. If this component is absent, the limit is not updated.
   */
  readonly refreshLimit?: (driver: string, signal: AbortSignal) => Promise<void>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly recorder?: EventRecorder;
}

export interface CsiPluginOptions {
  /** Name of this node, which is part of the names of VolumeAttachments. */
  readonly nodeName: string;
  /** Whether the health of volumes is reported (feature gate `CSIVolumeHealth`). Default: false. */
  readonly showsHealth?: boolean;
}

/**
 * Plugin for volumes of CSI drivers: persistent volumes and inline volumes of pods (`pkg/volume/csi`). Files, modes and
 * the order of calls are the same as in the Go kubelet, so that a node can change between the two kubelets while
 * volumes are mounted.
 */
export class CsiPlugin implements VolumePlugin {
  readonly name: string = CSI_PLUGIN;
  readonly takesMountOptions = true;
  readonly measuresElsewhere = true;
  readonly node: NodeVolumePlugin;
  /** Plugin for volumes with `volumeMode: Block`; `undefined` without loop devices. */
  readonly block: VolumePlugin | undefined;
  readonly #components: WithDefaults<CsiPluginComponents>;
  readonly #paths: CsiPaths;
  readonly #calls: CsiCalls;
  readonly #inputs: CsiInputs;
  readonly #publishing: CsiPublishing;
  readonly #showsHealth: boolean;

  constructor(given: CsiPluginComponents, options: CsiPluginOptions) {
    checkOptions('CsiPlugin', options, { nodeName: 'string', showsHealth: 'boolean?' });
    checkComponents('CsiPlugin', given, {
      fs: [
        'open',
        'mkdir',
        'readdir',
        'lstat',
        'exists',
        'remove',
        'removeAll',
        'realpath',
        'readlink',
        'symlink',
        'writeFile',
        'writeFileAtomic',
        'giveToGroup',
      ],
      foreignFiles: ['stat'],
      mounter: ['mountPoints', 'mountsOfSame', 'bind', 'unmount'],
      paths: ['volumeDir', 'volumeDevicesDir', 'pluginDataDir', 'podDir'],
      drivers: ['driver'],
      objects: ['getCsiDriver', 'knownCsiDriver', 'getVolumeAttachment', 'getSecret'],
      tokens: ['requestToken'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#showsHealth = options.showsHealth ?? false;
    this.#paths = new CsiPaths(components.paths);
    this.#calls = new CsiCalls(components);
    this.#inputs = new CsiInputs(components, options.nodeName);
    const { refreshLimit } = components;
    const attachLimit = new AttachLimit({ ...components, refreshLimit }, options.nodeName);
    const identities = new CsiIdentities({ ...components, paths: this.#paths, volumes: components.volumes });
    const parts = {
      ...{ ...components, paths: this.#paths, calls: this.#calls, inputs: this.#inputs, attachLimit, identities },
    };
    this.node = new CsiStaging(parts);
    this.#publishing = new CsiPublishing(parts, options.nodeName);
    const { loops } = components;
    if (loops === undefined) return;
    const paths = new BlockPaths(components.paths, CSI_PLUGIN, CSI_PLUGIN);
    const mapper = new BlockMapper({ ...components, loops });
    this.block = new CsiBlockPlugin({ ...parts, paths, mapper }, options);
  }

  canSupport({ volume, persistent }: VolumeSpec): boolean {
    if (persistent === undefined) return volume.csi !== undefined;
    return persistent.spec?.csi !== undefined && persistent.spec.volumeMode !== 'Block';
  }

  async resolve(pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<ResolvedVolume> {
    // An inline volume belongs to its pod alone and is neither attached nor staged.
    return spec.persistent === undefined ? podVolume(spec) : await csiNodeVolume(this.#inputs, pod, spec, signal);
  }

  supportsSelinuxMount({ persistent, volume }: ResolvedVolume): boolean {
    const driver = persistent?.spec?.csi?.driver ?? volume.csi?.driver ?? '';
    return this.#components.objects.knownCsiDriver(driver)?.spec.seLinuxMount === true;
  }

  requiresRepublish(volume: ResolvedVolume): boolean {
    return this.#inputs.requiresRepublish(volume.persistent?.spec?.csi?.driver ?? volume.volume.csi?.driver ?? '');
  }

  unanswered(podUid: string, directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined {
    const ofPod = this.#calls.unanswered(publishKey(podUid, directoryName));
    return ofPod ?? (node && this.#calls.unanswered(node.uniqueName));
  }

  async setUp(
    pod: Pod,
    volume: ResolvedVolume,
    context: MountContext,
    signal: AbortSignal,
    state: SetUpState,
  ): Promise<MountedVolume> {
    const { directoryName, selinuxLabel } = volume;
    const source = csiSource(volume, pod);
    const { csiDriver, capabilities } = await this.#publishing.publish(
      { pod, source, directoryName, specName: specName(volume), ...(selinuxLabel && { selinuxLabel }) },
      context,
      signal,
      state,
    );
    const { fsGroup } = context;
    const hostPath = this.#paths.podMount(pod.metadata.uid, directoryName);
    if (fsGroup !== undefined && !capabilities.volumeMountGroup && takesFsGroup(source, csiDriver)) {
      await this.#giveToGroup(pod, source.handle, hostPath, fsGroup, signal);
    }
    const selinuxRelabel = !source.readOnly && selinuxLabel === undefined && (await this.#takesLabels(hostPath));
    return { hostPath, readOnly: source.readOnly, selinuxRelabel, foreign: true };
  }

  /** Inline volumes have no PVC and are never expanded. */
  async expand(mounted: MountedVolume, volume: ResolvedVolume, bytes: bigint, signal: AbortSignal): Promise<void> {
    const source = csiSource(volume, undefined);
    const { hostPath: volumePath } = mounted;
    const places = {
      ...{ key: volume.node?.uniqueName ?? volumePath, volumePath, isBlock: false },
      stagingTargetPath: this.#paths.globalMount(source),
    };
    await expandCsiVolume({ calls: this.#calls, inputs: this.#inputs }, source, places, bytes, signal);
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal, pod: Pod | undefined): Promise<void> {
    await this.#publishing.unpublish(podUid, directoryName, signal, pod);
  }

  /** Returns the usage that the driver reports; `undefined` if the driver reports none (`GET_VOLUME_STATS`). */
  async usage({ hostPath }: MountedVolume, volume: ResolvedVolume, pod: Pod): Promise<VolumeMeasurement | undefined> {
    return await csiUsage(this.#calls, csiSource(volume, pod), hostPath, this.#showsHealth);
  }

  isRemoving(): boolean {
    return false;
  }

  /** Returns whether files of a mounted volume can have SELinux labels (upstream: `GetSELinuxSupport`). */
  async #takesLabels(path: string): Promise<boolean> {
    const { fs, mounter } = this.#components;
    const real = await realDirectory(fs, path);
    return real !== undefined && (await mounter.takesLabels?.(real)) === true;
  }

  async #giveToGroup(pod: Pod, handle: string, path: string, fsGroup: FsGroup, signal: AbortSignal): Promise<void> {
    const { foreignFiles, paths } = this.#components;
    try {
      const root = await foreignFiles.stat(path, signal);
      const shownAs = path.slice(paths.podDir(pod.metadata.uid).length + 1);
      await giveToGroup(this.#components, { pod, path, root, shownAs }, fsGroup);
    } catch (error) {
      signal.throwIfAborted();
      // The driver has published the volume, but the pod cannot use it without the fsGroup.
      throw new VolumeError('Io', `applyFSGroup failed for vol ${handle}: ${errorText(error)}`, error);
    }
  }
}
