import { VolumeError } from '../../errors.ts';
import type { VolumeSpec } from '../../manager/resolved-volume.ts';
import type { DiskSource } from '../network-disk.ts';

/** Name of the iSCSI plugin in upstream's kubelet. */
export const ISCSI = 'kubernetes.io/iscsi';

const DEFAULT_PORT = 3260;

/** A LUN of an iSCSI target, combined from the pod's volume and, for a PVC, its persistent volume. */
export interface IscsiDisk {
  /** Name of the persistent volume, or of the pod's volume. */
  readonly volumeName: string;
  /** Portals, each with a port. The names of directories contain the first portal. */
  readonly portals: readonly [string, ...string[]];
  readonly iqn: string;
  readonly lun: number;
  /** Name of the iSCSI interface that is cloned for the volume if the volume has an initiator name. */
  readonly initIface: string;
  readonly iface: string;
  /** Initiator name of the volume. If '', the initiator name of the interface is used. */
  readonly initiatorName: string;
  readonly chapDiscovery: boolean;
  readonly chapSession: boolean;
  /** Secret with CHAP credentials. Default of the namespace: the pod's namespace. */
  readonly secret?: { readonly namespace?: string; readonly name: string };
}

/** Returns the disk of a volume (`createISCSIDisk`); `undefined` if the volume is of another type. */
export function iscsiDisk({ volume, persistent }: VolumeSpec): IscsiDisk | undefined {
  const iscsi = persistent === undefined ? volume.iscsi : persistent.spec?.iscsi;
  if (iscsi === undefined) return undefined;
  const { targetPortal, portals = [], iqn, lun, iscsiInterface = 'default', initiatorName = '' } = iscsi;
  const first = withPort(targetPortal);
  const volumeName = persistent?.metadata.name ?? volume.name;
  const namespace = persistent?.spec?.iscsi?.secretRef?.namespace ?? '';
  const secret = iscsi.secretRef?.name;
  return {
    ...{ volumeName, portals: [first, ...portals.map(withPort)], iqn, lun, initIface: iscsiInterface, initiatorName },
    iface: initiatorName === '' ? iscsiInterface : `${first}:${volumeName}`,
    ...{ chapDiscovery: iscsi.chapAuthDiscovery ?? false, chapSession: iscsi.chapAuthSession ?? false },
    ...(secret && { secret: { name: secret, ...(namespace !== '' && { namespace }) } }),
  };
}

/** Returns the iSCSI disk of a volume. @throws VolumeError `InvalidSource` */
export function requiredIscsiDisk(spec: VolumeSpec): IscsiDisk {
  const disk = iscsiDisk(spec);
  if (disk === undefined) throw new VolumeError('InvalidSource', 'Spec does not reference an ISCSI volume type');
  return disk;
}

/**
 * Returns the volume's iSCSI disk in the form common to all network disks; `undefined` if the volume is of another
 * type.
 */
export function iscsiSource(spec: VolumeSpec): DiskSource | undefined {
  const disk = iscsiDisk(spec);
  const { volume, persistent, readOnly = false } = spec;
  const iscsi = persistent === undefined ? volume.iscsi : persistent.spec?.iscsi;
  if (disk === undefined || iscsi === undefined) return undefined;
  return {
    uniqueName: `${iscsi.targetPortal}:${disk.iqn}:${disk.lun}`,
    directory: [`iface-${disk.iface}`, deviceName(disk)],
    fsType: iscsi.fsType ?? '',
    readOnly: persistent === undefined ? (iscsi.readOnly ?? false) : readOnly,
  };
}

/** Returns the name of the directory in which the disk is mounted (`makePDNameInternal`). */
export function deviceName({ portals, iqn, lun }: Pick<IscsiDisk, 'portals' | 'iqn' | 'lun'>): string {
  return `${portals[0]}-${iqn}-lun-${lun}`;
}

/** The part of an iSCSI disk that is needed to disconnect it. */
export type ConnectedIscsiDisk = Pick<IscsiDisk, 'portals' | 'iqn' | 'lun' | 'iface' | 'volumeName' | 'initiatorName'>;

/**
 * Returns the disk that is mounted in a directory, as far as the names of the directory and its parent describe it
 * (`extractPortalAndIqn`, `extractIface`). @throws VolumeError `InvalidSource`
 */
export function diskOfNames([interfaceName = '', device = '']: readonly string[]): ConnectedIscsiDisk {
  const [, portal = '', iqn = '', lun = ''] = /^(.+?)-((?:iqn|eui)\..*)-lun-(\d+)$/.exec(device) ?? [];
  if (portal === '' || !interfaceName.startsWith('iface-')) {
    throw new VolumeError('InvalidSource', `iscsi detach disk: malformatted mnt path: ${interfaceName}/${device}`);
  }
  const iface = interfaceName.slice('iface-'.length);
  return { portals: [portal], iqn, lun: Number(lun), iface, volumeName: '', initiatorName: '' };
}

/** Returns the text of `iscsi.json`, as upstream's kubelet writes and reads it (`persistISCSIFile`). */
export function formatIscsiFile(disk: IscsiDisk): string {
  const { volumeName: VolName, portals: Portals, iqn: Iqn, initIface: InitIface, iface: Iface } = disk;
  const fields = { VolName, Portals, Iqn, Lun: `${disk.lun}`, InitIface, Iface, InitiatorName: disk.initiatorName };
  return `${JSON.stringify({ ...fields, MetricsProvider: null })}\n`;
}

/** Returns the disk in the text of `iscsi.json`; `undefined` if the text is damaged. */
export function parseIscsiFile(text: string): ConnectedIscsiDisk | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = new Map(Object.entries(value));
  const of = (name: string): string => {
    const field: unknown = fields.get(name);
    return typeof field === 'string' ? field : '';
  };
  const given: unknown = fields.get('Portals');
  const [first, ...others] = Array.isArray(given)
    ? given.filter((portal): portal is string => typeof portal === 'string' && portal !== '')
    : [];
  const lun = Number(of('Lun'));
  if (first === undefined || of('Iqn') === '' || !Number.isSafeInteger(lun)) return undefined;
  return {
    ...{ portals: [first, ...others], iqn: of('Iqn'), lun, iface: of('Iface') },
    ...{ volumeName: of('VolName'), initiatorName: of('InitiatorName') },
  };
}

/** Adds the default port to a portal without a colon (`portalMounter`). */
function withPort(portal: string): string {
  return portal.includes(':') ? portal : `${portal}:${DEFAULT_PORT}`;
}
