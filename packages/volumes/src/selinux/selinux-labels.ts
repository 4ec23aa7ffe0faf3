import type { Pod } from '@node-agent/pod-spec';
import { metricPluginName } from '../csi/csi-names.ts';
import { VolumeError } from '../errors.ts';
import type { VolumePlugin } from '../manager/plugin.ts';
import type { ResolvedVolume } from '../manager/resolved-volume.ts';
import type { VolumeEntries } from '../manager/volume-entries.ts';
import type { VolumeEntry } from '../manager/volume-entry.ts';
import { accessModeOf, isMountable, mountsWithLabel, volumeLabels } from './label-rule.ts';
import type { SelinuxConflict, SelinuxMetrics } from './selinux-metrics.ts';

/** SELinux settings of this node. */
export interface SelinuxSettings {
  /** Default label of containers' files, for example `system_u:object_r:container_file_t:s0`. */
  readonly fileContext: string;
  /**
   * Whether volumes of all access modes are mounted with their label (feature gate `SELinuxMount`). Default: only those
   * with the single access mode ReadWriteOncePod.
   */
  readonly allAccessModes?: boolean;
}

/** Dependencies of {@link SelinuxLabels}. */
export interface SelinuxLabelsComponents {
  readonly entries: Pick<VolumeEntries, 'all'>;
  readonly metrics: SelinuxMetrics;
}

/**
 * Determines the labels with which volumes are mounted (`-o context`), so that the runtime need not relabel their files
 * (`getSELinuxLabel` of `pkg/kubelet/volumemanager/cache`). Used only on a node with SELinux.
 */
export class SelinuxLabels {
  readonly #components: SelinuxLabelsComponents;
  readonly #settings: SelinuxSettings;

  constructor(components: SelinuxLabelsComponents, settings: SelinuxSettings) {
    this.#components = components;
    this.#settings = settings;
  }

  /**
   * Returns the volume with its label. @throws VolumeError `InvalidSource` if containers of the pod need different
   * labels or a label is invalid; `InUse` if another pod uses the volume with another label
   */
  labelled(pod: Pod, volume: ResolvedVolume, plugin: VolumePlugin | undefined): ResolvedVolume {
    if (plugin?.supportsSelinuxMount?.(volume) !== true) return volume;
    const { fileContext, allAccessModes = false } = this.#settings;
    const mounts = mountsWithLabel(volume, allAccessModes);
    const [label = '', ...others] = volumeLabels(pod, volume.volume.name, fileContext);
    const invalid = [label, ...others].find((one) => !isMountable(one));
    if (invalid !== undefined) {
      if (!mounts) return volume;
      const why = `SELinux label ${JSON.stringify(invalid)} must consist of letters, digits and .:,-_`;
      throw new VolumeError('InvalidSource', why, undefined, { effect: 'unchanged' });
    }
    if (others.length > 0) {
      this.#conflict('pod_context_mismatch', mounts, volume, plugin);
      if (!mounts) return volume;
      const why = `multiple SELinux labels found: ${[label, ...others].join(',')}`;
      throw new VolumeError('InvalidSource', why, undefined, { effect: 'unchanged' });
    }
    const isRecursive = pod.spec.securityContext?.seLinuxChangePolicy === 'Recursive';
    const wanted = isRecursive ? '' : label;
    const users = this.#usersOf(pod, volume);
    // A pod that wants the volume already was compared and counted then, as in upstream (`AddPodToVolume`).
    const isNew = users.every(({ podUid }) => podUid !== pod.metadata.uid);
    if (isNew && mounts) this.#checkFound(pod, volume, wanted);
    if (isNew) this.#compare(users, volume, plugin, wanted, mounts);
    if (wanted === '') return volume;
    if (users.length === 0) this.#components.metrics.admitted(nameOf(plugin, volume), accessModeOf(volume));
    const found = { ...volume, wantedSelinuxLabel: wanted };
    if (!mounts) return found;
    return { ...found, selinuxLabel: wanted, ...(volume.node && { node: { ...volume.node, selinuxLabel: wanted } }) };
  }

  /**
   * Returns the pods' volumes that are this volume and that are wanted. A volume of a pod that has ended does not count:
   * the volume is unmounted for that pod before it is mounted with another label.
   */
  #usersOf({ metadata: { uid } }: Pod, { node, directoryName }: ResolvedVolume): readonly VolumeEntry[] {
    const { entries } = this.#components;
    return entries.all().filter(({ actions, podUid, directoryName: name, wanted, request }) => {
      if (!wanted || request === undefined) return false;
      if (node !== undefined) return actions.node?.volume.uniqueName === node.uniqueName;
      return podUid === uid && name === directoryName;
    });
  }

  /**
   * Checks that no pod has had the volume with a different label since before the kubelet started. Such a pod may not
   * have been synced yet. It keeps the volume if it still wants it, so the other pod must not be first.
   * @throws VolumeError `InUse`
   */
  #checkFound({ metadata: { uid } }: Pod, { node, directoryName }: ResolvedVolume, label: string): void {
    if (node === undefined) return;
    for (const { actions, podUid, wanted } of this.#components.entries.all()) {
      const found = actions.node?.volume;
      if (wanted !== undefined || podUid === uid || found?.uniqueName !== node.uniqueName) continue;
      if ((found.selinuxLabel ?? '') !== label) throw conflicting(directoryName, found.selinuxLabel ?? '', label);
    }
  }

  /** Reports a conflict if another pod uses the same volume with a different label. */
  #compare(
    users: readonly VolumeEntry[],
    volume: ResolvedVolume,
    plugin: VolumePlugin,
    label: string,
    mounts: boolean,
  ): void {
    const other = users.map(({ request }) => request?.volume.wantedSelinuxLabel ?? '').find((one) => one !== label);
    if (other === undefined) return;
    this.#conflict('volume_context_mismatch', mounts, volume, plugin);
    if (mounts) throw conflicting(volume.directoryName, other, label);
  }

  #conflict(kind: SelinuxConflict, isError: boolean, volume: ResolvedVolume, plugin: VolumePlugin): void {
    this.#components.metrics.conflict(kind, isError, nameOf(plugin, volume), accessModeOf(volume));
  }
}

function conflicting(directoryName: string, before: string, label: string): VolumeError {
  const labels = `${JSON.stringify(before)} and ${JSON.stringify(label)}`;
  const why = `conflicting SELinux labels of volume ${directoryName}: ${labels}`;
  return new VolumeError('InUse', why, undefined, { effect: 'unchanged' });
}

/**
 * Returns the plugin's name in the SELinux metrics: for a CSI volume, `kubernetes.io/csi/DRIVER`
 * (`getVolumePluginNameWithDriver`).
 */
function nameOf({ name }: VolumePlugin, { volume, node }: ResolvedVolume): string {
  return metricPluginName(name, volume.csi?.driver, node?.uniqueName).replace(':', '/');
}
