import type { Pod } from '@node-agent/pod-spec';
import { isReadWriteOncePod } from '../claims/claim-rule.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';

type SelinuxOptions = NonNullable<NonNullable<Pod['spec']['securityContext']>['seLinuxOptions']>;

/**
 * Returns the SELinux label of files for containers with these SELinux options; '' if the label is not known, because
 * the runtime chooses the level (`label.InitLabels` of opencontainers/selinux). @param fileContext default label of
 * containers' files, for example `system_u:object_r:container_file_t:s0`
 */
export function fileLabel({ user, level }: SelinuxOptions, fileContext: string): string {
  // User and level of the label are those of the process; role and type are the same for the files of all containers.
  const [defaultUser = '', role = '', type = ''] = fileContext.split(':');
  return level ? [user || defaultUser, role, type, level].join(':') : '';
}

/** Returns the labels of all containers that mount a volume and have SELinux options, each once, sorted. */
export function volumeLabels({ spec }: Pick<Pod, 'spec'>, volumeName: string, fileContext: string): readonly string[] {
  const { initContainers = [], containers = [], ephemeralContainers = [], securityContext } = spec;
  const labels = new Set<string>();
  for (const container of [...initContainers, ...containers, ...ephemeralContainers]) {
    if (!container.volumeMounts?.some(({ name }) => name === volumeName)) continue;
    const options = container.securityContext?.seLinuxOptions ?? securityContext?.seLinuxOptions;
    if (options !== undefined) labels.add(fileLabel(options, fileContext));
  }
  return [...labels].sort();
}

/**
 * Returns whether a volume is mounted with its label: by default only a volume with the single access mode
 * ReadWriteOncePod (`VolumeSupportsSELinuxMount`). @param allModes feature gate `SELinuxMount`
 */
export function mountsWithLabel(spec: VolumeSpec, allModes: boolean): boolean {
  return spec.persistent !== undefined && (allModes || isReadWriteOncePod(spec));
}

/**
 * Returns the volume's access mode for metrics. Of several modes, the mode with the most users is returned
 * (`getVolumeAccessMode`).
 */
export function accessModeOf({ persistent }: VolumeSpec): string {
  if (persistent === undefined) return 'inline';
  const modes = persistent.spec?.accessModes ?? [];
  const [, found = ''] = MODES.find(([mode]) => modes.includes(mode)) ?? [];
  return found;
}

const MODES = [
  ['ReadWriteMany', 'RWX'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteOnce', 'RWO'],
  ['ReadWriteOncePod', 'RWOP'],
] as const;

/**
 * Returns whether a label may be in a mount option. The author of a pod chooses user and level. A quote in user or
 * level would end the option, so that the rest could override the administrator's mount options.
 */
export function isMountable(label: string): boolean {
  return /^[\w.:,-]*$/.test(label);
}

/**
 * Returns mount options with the option for a SELinux label added. The quotes protect commas in the label
 * (`AddSELinuxMountOption`).
 */
export function withLabel(options: readonly string[], label: string | undefined): readonly string[] {
  return label ? [...options, `context="${label}"`] : options;
}
