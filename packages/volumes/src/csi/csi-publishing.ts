import type { CsiNodeCapabilities, CsiPublishRequest } from '@node-agent/contracts';
import type { FileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { SetUpState } from '../manager/plugin.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { withLabel } from '../selinux/label-rule.ts';
import type { CsiCalls } from './csi-calls.ts';
import type { CsiIdentities } from './csi-identities.ts';
import type { CsiInputs } from './csi-inputs.ts';
import { attachmentName, CSI_PLUGIN, type CsiIdentity } from './csi-names.ts';
import type { CsiDriverData } from './csi-objects.ts';
import type { CsiPaths } from './csi-paths.ts';
import { type CsiSource, csiAccessMode } from './csi-source.ts';
import { lifecycleProblem } from './driver-rule.ts';
import { publishRequest } from './publish-request.ts';
import { removeMountDir } from './remove-mount-dir.ts';
import { readVolumeData, type VolumeData, writeVolumeData } from './volume-data.ts';

/** Dependencies of {@link CsiPublishing}. */
export interface CsiPublishingComponents {
  readonly fs: Pick<FileSystem, 'open' | 'mkdir' | 'readdir' | 'remove' | 'realpath' | 'writeFileAtomic'>;
  readonly mounter: Pick<Mounter, 'mountPoints'>;
  readonly logger: Logger;
  readonly paths: CsiPaths;
  readonly calls: CsiCalls;
  readonly inputs: CsiInputs;
  readonly identities: CsiIdentities;
}

/** A CSI volume of a pod. */
export interface CsiPodVolume {
  readonly pod: Pod;
  readonly source: CsiSource;
  /** Name of the volume's directory in the pod's directory. */
  readonly directoryName: string;
  /** Name of the volume in upstream's kubelet (`Spec.Name()`), for the data file. */
  readonly specName: string;
  /** SELinux label with which the volume is mounted; absent without one. */
  readonly selinuxLabel?: string;
}

/** Result of {@link CsiPublishing.publish}. */
export interface CsiPublished {
  readonly csiDriver: CsiDriverData | undefined;
  readonly capabilities: CsiNodeCapabilities;
}

const STEP = 'mounter.SetUpAt failed';

/**
 * Publishes CSI volumes to pods and unpublishes them (`csiMountMgr` of `pkg/volume/csi`): the driver mounts the volume
 * at `pods/UID/volumes/kubernetes.io~csi/NAME/mount`.
 */
export class CsiPublishing {
  readonly #components: CsiPublishingComponents;
  readonly #nodeName: string;
  /** Driver and volume ID of each volume that this process published; used if a data file is damaged. */
  readonly #published = new Map<string, CsiIdentity>();

  constructor(components: CsiPublishingComponents, nodeName: string) {
    this.#components = components;
    this.#nodeName = nodeName;
  }

  async publish(
    volume: CsiPodVolume,
    context: MountContext,
    signal: AbortSignal,
    state: SetUpState,
  ): Promise<CsiPublished> {
    const { calls, inputs } = this.#components;
    const { source, pod, directoryName } = volume;
    const key = publishKey(pod.metadata.uid, directoryName);
    const csiDriver = await inputs.csiDriver(source.driver, `${STEP} to check volume lifecycle mode`, signal);
    const driver = calls.driver(source.driver, `${STEP} to get CSI client`);
    const problem = lifecycleProblem(source, csiDriver);
    if (problem !== undefined) {
      const message = `${CSI_PLUGIN}: mounter.SetupAt failed to check volume lifecycle mode: ${problem}`;
      throw new VolumeError('UnsupportedMount', message, undefined, { effect: 'unchanged' });
    }
    const capabilities = await calls.make(
      key,
      driver,
      'NodeGetCapabilities',
      () => driver.capabilities(signal),
      signal,
    );
    const request = await this.#request(volume, context, csiDriver, capabilities, signal);
    await this.#save(volume);
    try {
      await calls.make(key, driver, 'NodePublishVolume', () => driver.publishVolume(request, signal), signal);
    } catch (error) {
      if (VolumeError.is(error) && error.effect === 'none') await this.#onRefused(volume, request.targetPath, state);
      throw error;
    }
    return { csiDriver, capabilities };
  }

  /** Unpublishes a volume, whichever process published it. @param pod the pod if it is known. @throws VolumeError */
  async unpublish(podUid: string, directoryName: string, signal: AbortSignal, pod: Pod | undefined): Promise<void> {
    const { calls, paths } = this.#components;
    const key = publishKey(podUid, directoryName);
    const path = paths.podMount(podUid, directoryName);
    const identity = await this.#identity(podUid, directoryName, path, pod, signal);
    if (identity !== undefined) {
      const step = 'Unmounter.TearDownAt failed';
      const driver = calls.driver(identity.driver, `${step} to get CSI client`);
      const call = (): Promise<void> => driver.unpublishVolume(identity.handle, path, signal);
      await calls.make(key, driver, 'NodeUnpublishVolume', call, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        throw new VolumeError('DriverFailed', `${CSI_PLUGIN}: ${step}: ${errorText(error)}`, error);
      });
    }
    await removeMountDir(this.#components, path);
    this.#published.delete(key);
  }

  /**
   * Returns driver and volume ID of the volume to unpublish; `undefined` if nothing was published. @throws VolumeError
   * `StillMounted` if a mounted volume's driver is unknown, so that the volume cannot be unpublished
   */
  async #identity(
    podUid: string,
    directoryName: string,
    path: string,
    pod: Pod | undefined,
    signal: AbortSignal,
  ): Promise<CsiIdentity | undefined> {
    const { fs, paths, identities } = this.#components;
    const known = this.#published.get(publishKey(podUid, directoryName));
    if (known !== undefined) return known;
    const directory = paths.podVolumeDir(podUid, directoryName);
    const data = await readVolumeData(fs, directory).catch((error: unknown) => VolumeError.from(error));
    if (data !== undefined && !VolumeError.is(data)) return { driver: data.driverName, handle: data.volumeHandle };
    if (!(await isMountPoint(this.#components, path))) return undefined;
    const found = (await identities.ofStaged(path)) ?? (await identities.ofName(podUid, directoryName, pod, signal));
    if (found !== undefined) return found;
    const why = data?.message ?? `${directory}: the volume data file is missing`;
    throw new VolumeError('StillMounted', `${CSI_PLUGIN}: driver of the mounted volume is unknown: ${why}`, data);
  }

  async #request(
    { pod, source, directoryName, selinuxLabel }: CsiPodVolume,
    { fsGroup }: MountContext,
    csiDriver: CsiDriverData | undefined,
    can: CsiNodeCapabilities,
    signal: AbortSignal,
  ): Promise<CsiPublishRequest> {
    const { inputs, paths } = this.#components;
    const isStaged = source.lifecycle === 'Persistent' && can.stageUnstage;
    const group = can.volumeMountGroup && fsGroup !== undefined ? { volumeMountGroup: `${fsGroup.gid}` } : {};
    const request = await publishRequest(inputs, { pod, source, csiDriver, can }, signal);
    const tokens = await inputs.tokens(pod, csiDriver, signal);
    const tokensInSecrets = csiDriver?.spec.serviceAccountTokenInSecrets === true;
    return {
      ...request,
      targetPath: paths.podMount(pod.metadata.uid, directoryName),
      ...(isStaged && { stagingTargetPath: paths.globalMount(source) }),
      capability: {
        access: {
          type: 'mount',
          fsType: source.fsType,
          mountFlags: withLabel(source.mountOptions, selinuxLabel),
          ...group,
        },
        accessMode: csiAccessMode(source, can.singleNodeMultiWriter),
      },
      secrets: { ...request.secrets, ...(tokensInSecrets && tokens) },
      volumeContext: { ...request.volumeContext, ...(!tokensInSecrets && tokens) },
    };
  }

  /**
   * Writes the volume's data file before the driver is called, so that the next kubelet process can unpublish the
   * volume.
   */
  async #save({ pod, source, directoryName, specName, selinuxLabel }: CsiPodVolume): Promise<void> {
    const { fs, paths } = this.#components;
    const { driver, handle, lifecycle } = source;
    const { uid } = pod.metadata;
    const directory = paths.podVolumeDir(uid, directoryName);
    const data: VolumeData = {
      ...{ driverName: driver, volumeHandle: handle, specVolID: specName, nodeName: this.#nodeName },
      ...{ attachmentID: attachmentName(source, this.#nodeName), volumeLifecycleMode: lifecycle },
      ...(selinuxLabel !== undefined && { seLinuxMountContext: selinuxLabel }),
    };
    this.#published.set(publishKey(uid, directoryName), { driver, handle });
    await fs.mkdir(directory, { mode: 0o750 });
    await writeVolumeData(fs, directory, data);
  }

  /**
   * Removes the directory of a volume that the driver refused to publish, unless an earlier call may have published it.
   */
  async #onRefused({ pod, directoryName }: CsiPodVolume, path: string, state: SetUpState): Promise<void> {
    if (state.ready !== undefined || state.isReconstructed) return;
    this.#published.delete(publishKey(pod.metadata.uid, directoryName));
    await removeMountDir(this.#components, path).catch((err: unknown) => {
      const what = 'Failed to remove the directory of a volume that could not be published';
      this.#components.logger.warn({ err, path }, what);
    });
  }
}

/** Returns a key that identifies a volume of a pod. */
export function publishKey(podUid: string, directoryName: string): string {
  return `${podUid}/${directoryName}`;
}
