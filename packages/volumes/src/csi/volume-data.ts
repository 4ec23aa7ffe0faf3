import { join } from 'node:path';
import { type FileSystem, isMissing, readFileBounded } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import { goJson } from '../go-json.ts';

/** Name of the data file beside each mount of a CSI volume; the file contains the driver and the volume ID. */
const FILE = 'vol_data.json';
/**
 * Maximum size of a data file that is read. The kubelet writes less than 2 KiB: a volume ID has at most 128 bytes by
 * the CSI specification.
 */
const LIMIT_BYTES = 64 * 1024;

/**
 * Content of `vol_data.json`, with upstream's field names (`volDataKey` of `pkg/volume/csi/csi_mounter.go`), so that a
 * node can change between the two kubelets.
 */
export interface VolumeData {
  readonly driverName: string;
  readonly volumeHandle: string;
  /** Name of the volume in the pod. This field and the following ones are absent in the file of a staged volume. */
  readonly specVolID?: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  /** SELinux label with which the volume is mounted; absent without one. */
  readonly seLinuxMountContext?: string;
  /** `Persistent` or `Ephemeral`; absent for block volumes. */
  readonly volumeLifecycleMode?: string;
}

/** Returns the text of `vol_data.json`, byte for byte as upstream writes it. */
export function formatVolumeData(data: VolumeData): string {
  return `${goJson({ ...data })}\n`;
}

/** Parses the content of `vol_data.json`. @throws VolumeError `InvalidSource`, naming the file and the problem */
export function parseVolumeData(bytes: Uint8Array, path: string): VolumeData {
  const refuse = (why: string): VolumeError => new VolumeError('InvalidSource', `${path}: ${why}`);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw refuse('must be JSON in UTF-8');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('must be a JSON object');
  const fields = Object.entries(value);
  for (const [name, field] of fields) {
    if (typeof field !== 'string') throw refuse(`${JSON.stringify(name)} must be a string`);
  }
  const text = (name: keyof VolumeData): string => fields.find(([field]) => field === name)?.[1] ?? '';
  for (const name of ['driverName', 'volumeHandle'] as const)
    if (text(name) === '') throw refuse(`${name} must be set`);
  const optional = (
    ['specVolID', 'nodeName', 'attachmentID', 'seLinuxMountContext', 'volumeLifecycleMode'] as const
  ).flatMap((name) => (text(name) === '' ? [] : [[name, text(name)] as const]));
  return { driverName: text('driverName'), volumeHandle: text('volumeHandle'), ...Object.fromEntries(optional) };
}

/**
 * Reads the data file in a directory; returns `undefined` if there is none. Never blocks on a FIFO and never reads more
 * than 64 KiB. @throws VolumeError `InvalidSource`
 */
export async function readVolumeData(fs: Pick<FileSystem, 'open'>, directory: string): Promise<VolumeData | undefined> {
  const path = join(directory, FILE);
  let bytes: Uint8Array;
  try {
    bytes = await readFileBounded(fs, path, LIMIT_BYTES);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new VolumeError('InvalidSource', `volume data file cannot be read: ${errorText(error)}`, error);
  }
  return parseVolumeData(bytes, path);
}

/**
 * Writes the data file in a directory atomically, and only if the content changes, because no other record of a mounted
 * volume exists. @throws a system error
 */
export async function writeVolumeData(
  fs: Pick<FileSystem, 'open' | 'writeFileAtomic'>,
  directory: string,
  data: VolumeData,
): Promise<void> {
  const text = formatVolumeData(data);
  const path = join(directory, FILE);
  const before = await readFileBounded(fs, path, LIMIT_BYTES).catch(() => undefined);
  if (before !== undefined && Buffer.from(text).equals(before)) return;
  await fs.writeFileAtomic(path, text, { mode: 0o644 });
}

/** Removes the data file in a directory. @throws a system error */
export async function removeVolumeData(fs: Pick<FileSystem, 'remove'>, directory: string): Promise<void> {
  await fs.remove(join(directory, FILE)).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}
