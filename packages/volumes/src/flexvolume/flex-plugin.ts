import type { Clock } from '@node-agent/async';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { type EventRecorder, errorText, type Logger } from '@node-agent/telemetry';
import { isReadWriteOncePod } from '../claims/claim-rule.ts';
import { VolumeError } from '../errors.ts';
import type {
  MountedVolume,
  NodeVolumePlugin,
  UnansweredCall,
  VolumeMeasurement,
  VolumePlugin,
} from '../manager/plugin.ts';
import { type NodeVolume, podVolume, type ResolvedVolume, type VolumeSpec } from '../manager/resolved-volume.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import { tryGiveToGroup } from '../mount/fs-group.ts';
import type { MountContext } from '../mount/mount-context.ts';
import { isMountPoint, type Mounter } from '../mount/mounter.ts';
import { statfsUsage } from '../mount/statfs-usage.ts';
import { takeAway } from '../mount/take-away.ts';
import type { VolumeSecrets } from '../projected/sources.ts';
import { NOT_SUPPORTED } from './driver-status.ts';
import type { FlexDriver } from './flex-driver.ts';
import { type FlexPaths, hasEntry } from './flex-paths.ts';
import {
  driverOptions,
  type FlexSource,
  flexSource,
  podOptions,
  requiredFlexSource,
  secretOptions,
} from './flex-source.ts';
import { FlexStaging, type FlexStagingComponents } from './flex-staging.ts';
import { removeMountPoint } from './remove-mount-point.ts';

/** Dependencies of {@link FlexPlugin}. */
export interface FlexPluginComponents extends FlexStagingComponents {
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'realpath' | 'giveToGroup'>;
  /** File operations on the volumes' own file systems, which may hang (W6). */
  readonly foreignFiles: Pick<ForeignFiles, 'stat' | 'statfs' | 'isDeviceInUse'>;
  readonly mounter: Pick<Mounter, 'mountPoints' | 'bind' | 'unmount'>;
  readonly calls: UnansweredCalls;
  /** Reads the secrets of volumes; `undefined` without an API server. */
  readonly secrets: VolumeSecrets | undefined;
  /** See `FlexVolumeComponents`. */
  readonly hasController: boolean;
  readonly clock: Pick<Clock, 'setTimer' | 'monotonic'>;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

/** Plugin for the volumes of one flexVolume driver (`flexVolumePlugin` of `pkg/volume/flexvolume`). */
export class FlexPlugin implements VolumePlugin {
  readonly name: string;
  readonly measuresElsewhere = true;
  readonly node: NodeVolumePlugin;
  readonly #components: FlexPluginComponents;
  readonly #staging: FlexStaging;
  readonly #driver: FlexDriver;
  readonly #paths: FlexPaths;

  constructor(components: FlexPluginComponents) {
    this.#components = components;
    this.#driver = components.driver;
    this.#paths = components.paths;
    this.name = components.driver.name;
    this.#staging = new FlexStaging(components);
    this.node = this.#staging;
  }

  canSupport(spec: VolumeSpec): boolean {
    return flexSource(spec)?.driver === this.name;
  }

  /**
   * Resolves a volume. If the driver attaches volumes, the volume has a node volume, which all pods of the node share.
   */
  async resolve(_pod: Pod, spec: VolumeSpec, signal: AbortSignal): Promise<ResolvedVolume> {
    const resolved = podVolume(spec);
    // If the driver's program was replaced, its capabilities are queried again.
    await this.#driver.refresh();
    const { attach } = await this.#driver.capabilities(signal);
    if (!attach) return resolved;
    if (!this.#components.hasController) {
      const why = 'its driver attaches volumes, which needs an API server';
      throw new VolumeError('UnsupportedVolume', `flexVolume of driver ${this.#driver.name}: ${why}`);
    }
    const name = resolved.directoryName;
    // The result is ignored, as in upstream, but the driver can refuse the volume by an error.
    await this.#driver.call('getvolumename', [driverOptions(requiredFlexSource(spec))], `${this.name}/${name}`, signal);
    const node: NodeVolume = {
      ...this.#staging.nodeVolume(name),
      ...{ spec, exclusive: isReadWriteOncePod(spec), attachable: true },
    };
    return { ...resolved, node };
  }

  unanswered(podUid: string, directoryName: string, node: NodeVolume | undefined): UnansweredCall | undefined {
    const { calls } = this.#components;
    const ofPod = calls.of(this.#paths.podDir(podUid, directoryName));
    return ofPod ?? (node && calls.of(this.#paths.deviceDir(node.name)));
  }

  async setUp(pod: Pod, volume: ResolvedVolume, context: MountContext, signal: AbortSignal): Promise<MountedVolume> {
    const path = this.#paths.podDir(pod.metadata.uid, volume.directoryName);
    const source = requiredFlexSource(volume);
    const { readOnly } = source;
    const { fsGroup, selinuxRelabel } = await this.#driver.capabilities(signal);
    if (!(await isMountPoint(this.#components, path))) {
      await this.#components.fs.mkdir(path, { mode: 0o750 });
      try {
        await this.#mount(pod, source, path, context, signal);
      } catch (error) {
        await removeMountPoint(this.#components, path).catch((err: unknown) => {
          this.#components.logger.warn({ err, path }, 'Failed to remove the directory of a volume');
        });
        throw error;
      }
      if (!readOnly && fsGroup && context.fsGroup) {
        const shownAs = path.slice(path.indexOf('/volumes/') + 1);
        await tryGiveToGroup(this.#components, { pod, path, shownAs }, context.fsGroup, signal);
      }
    }
    return { hostPath: path, readOnly, selinuxRelabel: selinuxRelabel && !readOnly, foreign: true };
  }

  /**
   * Grows the volume's file system with the driver's `expandfs`. If the driver does not implement `expandfs`, the
   * kubelet grows the file system (`expander.go`).
   */
  async expand(
    { hostPath }: MountedVolume,
    volume: ResolvedVolume,
    bytes: bigint,
    signal: AbortSignal,
    formerBytes: bigint,
  ): Promise<void> {
    const { requiresFsResize } = await this.#driver.capabilities(signal);
    if (!requiresFsResize) {
      const why = `flexVolume driver ${this.name} expands volumes without the node`;
      throw new VolumeError('ExpandUnsupported', why, undefined, { effect: 'none' });
    }
    const device = volume.node === undefined ? '' : this.#staging.deviceOf(volume.node);
    const args = [driverOptions(requiredFlexSource(volume)), device, hostPath, `${bytes}`, `${formerBytes}`];
    const expanded = await this.#driver.call('expandfs', args, hostPath, signal);
    // Without a device, the volume is not on a disk, so there is no file system to grow.
    if (expanded === NOT_SUPPORTED && device !== '') {
      await this.#components.devices?.grow?.(device, hostPath, signal);
    }
  }

  async tearDown(podUid: string, directoryName: string, signal: AbortSignal): Promise<void> {
    const path = this.#paths.podDir(podUid, directoryName);
    if (!(await hasEntry(this.#components.fs, path))) return;
    const unmounted = await this.#driver.call('unmount', [path], path, signal);
    if (unmounted === NOT_SUPPORTED) await takeAway(this.#components, path, signal);
    await removeMountPoint(this.#components, path);
  }

  /**
   * Returns the usage of the volume's file system; `undefined` if the driver does not report the capability
   * `supportsMetrics`.
   */
  async usage({ hostPath }: MountedVolume): Promise<VolumeMeasurement | undefined> {
    const { supportsMetrics } = await this.#driver.capabilities(new AbortController().signal);
    return supportsMetrics ? await statfsUsage(this.#components.foreignFiles, hostPath) : undefined;
  }

  isRemoving(): boolean {
    return false;
  }

  async #mount(pod: Pod, source: FlexSource, path: string, context: MountContext, signal: AbortSignal): Promise<void> {
    const secrets = await this.#secretOptions(pod, source, signal);
    const options = driverOptions(source, { ...podOptions(pod, context), ...secrets });
    const mounted = await this.#driver.call('mount', [path, options], path, signal);
    if (mounted !== NOT_SUPPORTED) return;
    await this.#components.mounter.bind(this.#paths.deviceDir(source.name), path, signal);
  }

  /** @throws VolumeError `MissingObject`, also if the secret is of another type than the driver's name */
  async #secretOptions(
    { metadata }: Pod,
    { secret, driver }: FlexSource,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, string>>> {
    if (secret === undefined) return {};
    const { namespace = metadata.namespace, name } = secret;
    const failed = (why: string, cause?: unknown): VolumeError =>
      new VolumeError('MissingObject', `couldn't get secret ${namespace}/${name} err: ${why}`, cause);
    const { secrets } = this.#components;
    if (secrets === undefined) throw failed('cannot get kube client');
    const found = await secrets(namespace, name, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw failed(errorText(error), error);
    });
    if (found === undefined) throw failed(`secrets "${name}" not found`);
    if (found.type !== driver) throw failed(`cannot get secret of type ${found.type ?? ''}`);
    return secretOptions(found);
  }
}
