import { VolumeError } from '../../errors.ts';
import type { VolumeSpec } from '../../manager/resolved-volume.ts';
import type { DiskSource } from '../network-disk.ts';

/** Name of the Fibre Channel plugin in upstream's kubelet. */
export const FC = 'kubernetes.io/fc';

/**
 * A Fibre Channel disk, identified either by the WWNs of its ports and a LUN, or by its WWIDs. Several WWNs or WWIDs
 * are paths to the same disk.
 */
export type FcDisk = { readonly wwns: readonly string[]; readonly lun: number } | { readonly wwids: readonly string[] };

/**
 * Returns the volume's Fibre Channel disk in the form common to all network disks; `undefined` if the volume is of
 * another type. @throws VolumeError
 */
export function fcSource({ volume, persistent, readOnly = false }: VolumeSpec): DiskSource | undefined {
  const fc = persistent === undefined ? volume.fc : persistent.spec?.fc;
  if (fc === undefined) return undefined;
  const { targetWWNs = [], lun, wwids = [], fsType = '' } = fc;
  const disk = requiredFcDisk({ volume, ...(persistent && { persistent }) });
  const uniqueName = 'wwns' in disk ? `[${targetWWNs.join(' ')}]:${lun}` : `[${wwids.join(' ')}]`;
  const isReadOnly = persistent === undefined ? (fc.readOnly ?? false) : readOnly;
  return { uniqueName, directory: [directoryOf(disk)], fsType, readOnly: isReadOnly };
}

/** Returns the Fibre Channel disk of a volume. @throws VolumeError `InvalidSource` */
export function requiredFcDisk({ volume, persistent }: VolumeSpec): FcDisk {
  const { targetWWNs = [], lun, wwids = [] } = (persistent === undefined ? volume.fc : persistent.spec?.fc) ?? {};
  if (lun !== undefined && targetWWNs.length > 0) return { wwns: targetWWNs, lun };
  if (wwids.length > 0) return { wwids: wwids.map(asLink) };
  throw new VolumeError('InvalidSource', 'fc: no fc disk information found. failed to make a new mounter');
}

/** Returns the content of the file that {@link parseFcFile} parses. */
export function formatFcFile(disk: FcDisk): string {
  return JSON.stringify('wwns' in disk ? { WWNs: disk.wwns, Lun: disk.lun } : { WWIDs: disk.wwids });
}

/** Parses the content of the file with a disk's identifiers; returns `undefined` if the text names no disk. */
export function parseFcFile(text: string): FcDisk | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(value));
  const wwids = textsOf(fields.get('WWIDs'));
  if (wwids.length > 0) return { wwids };
  const wwns = textsOf(fields.get('WWNs'));
  const lun = fields.get('Lun');
  return wwns.length > 0 && typeof lun === 'number' ? { wwns, lun } : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string' && text !== '') : [];
}

/** Returns the name of the directory in which the disk is mounted (`makePDNameInternal`). */
function directoryOf(disk: FcDisk): string {
  return 'wwns' in disk ? `${disk.wwns.join('-')}-lun-${disk.lun}` : disk.wwids.join('-');
}

/**
 * Returns the disk whose directory has this name (`parsePDName`). The result is exact only if no identifier of the disk
 * contains a hyphen. @throws VolumeError `InvalidSource`
 */
export function fcDiskOf(directory: string): FcDisk {
  const parts = directory.split('-');
  if (parts.at(-2) !== 'lun') return { wwids: parts };
  const lun = parts.at(-1) ?? '';
  if (parts.length === 2 || !/^\d+$/.test(lun)) {
    throw new VolumeError('InvalidSource', `no wwn in: ${directory}`);
  }
  return { wwns: parts.slice(0, -2), lun: Number(lun) };
}

/** Returns whether a link in /dev/disk/by-path leads to the disk (`findDisk`). */
export function isPathOf(link: string, wwn: string, lun: number): boolean {
  return (link.startsWith('fc-') || /^pci-.*-fc-/.test(link)) && link.endsWith(`fc-0x${wwn}-lun-${lun}`);
}

/** Returns the name of a disk's link in /dev/disk/by-id, in which blanks of the identifier are underscores. */
function asLink(wwid: string): string {
  return wwid.replaceAll(' ', '_');
}
