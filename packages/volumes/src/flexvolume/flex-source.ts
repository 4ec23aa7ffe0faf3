import type { Pod } from '@node-agent/pod-spec';
import { VolumeError } from '../errors.ts';
import { goJson } from '../go-json.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';
import type { MountContext } from '../mount/mount-context.ts';
import type { SecretData } from '../projected/sources.ts';

/** A flexVolume, combined from the pod's volume and, for a PVC, its persistent volume. */
export interface FlexSource {
  readonly driver: string;
  /** Name by which the driver gets the volume: of the persistent volume, or else of the pod's volume. */
  readonly name: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly options: Readonly<Record<string, string>>;
  /** Secret that the driver gets. Default of the namespace: the pod's namespace. */
  readonly secret?: { readonly namespace?: string; readonly name: string };
}

/** Returns the flexVolume source of a volume; `undefined` if the volume is of another type. */
export function flexSource({ volume, persistent, readOnly = false }: VolumeSpec): FlexSource | undefined {
  const flex = persistent === undefined ? volume.flexVolume : persistent.spec?.flexVolume;
  if (flex === undefined) return undefined;
  const { driver, fsType = '', options = {}, secretRef } = flex;
  // Only the reference of a persistent volume has a namespace.
  const namespace = persistent?.spec?.flexVolume?.secretRef?.namespace ?? '';
  const isReadOnly = persistent === undefined ? (flex.readOnly ?? false) : readOnly;
  return {
    ...{ driver, name: persistent?.metadata.name ?? volume.name, fsType, readOnly: isReadOnly, options },
    ...(secretRef?.name && { secret: { name: secretRef.name, ...(namespace !== '' && { namespace }) } }),
  };
}

/** Returns the flexVolume source of a volume. @throws VolumeError `InvalidSource` */
export function requiredFlexSource(spec: VolumeSpec): FlexSource {
  const source = flexSource(spec);
  if (source === undefined) throw new VolumeError('InvalidSource', 'not a flex volume');
  return source;
}

/**
 * Returns the JSON options with which the driver is called (`NewOptionsForDriver` of `pkg/volume/flexvolume`). The
 * volume's own options take precedence over the kubelet's.
 */
export function driverOptions(
  { name, fsType, readOnly, options }: FlexSource,
  more: Readonly<Record<string, string>> = {},
): string {
  return goJson({
    'kubernetes.io/fsType': fsType,
    'kubernetes.io/readwrite': readOnly ? 'ro' : 'rw',
    'kubernetes.io/pvOrVolumeName': name,
    ...more,
    ...options,
  });
}

/** Returns the options that describe the pod (`flexVolumeMounter.SetUpAt`). */
export function podOptions({ metadata, spec }: Pod, { fsGroup }: MountContext): Readonly<Record<string, string>> {
  return {
    'kubernetes.io/pod.name': metadata.name,
    'kubernetes.io/pod.namespace': metadata.namespace,
    'kubernetes.io/pod.uid': metadata.uid,
    'kubernetes.io/serviceAccount.name': spec.serviceAccountName ?? '',
    ...(fsGroup && { 'kubernetes.io/mounterArgs.FsGroup': `${fsGroup.gid}` }),
  };
}

/** Returns the options with the values of a secret, in base64 (`addSecretsToOptions`). */
export function secretOptions({ data = {} }: SecretData): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [`kubernetes.io/secret/${key}`, value]));
}
