import { isIPv6 } from 'node:net';
import { optionsFor } from '../claims/claim-rule.ts';
import { VolumeError } from '../errors.ts';
import type { VolumeSpec } from '../manager/resolved-volume.ts';

/** An export of an NFS server, with the mount options. */
export interface NfsSource {
  /** Source of the mount: `server:/path`. */
  readonly source: string;
  readonly readOnly: boolean;
  readonly options: readonly string[];
}

/** Returns the export of a volume (`getVolumeSource` of `pkg/volume/nfs`). @throws VolumeError `InvalidSource` */
export function nfsSource({ volume, persistent, readOnly = false }: VolumeSpec): NfsSource {
  const nfs = persistent === undefined ? volume.nfs : persistent.spec?.nfs;
  if (nfs === undefined) throw new VolumeError('InvalidSource', 'Spec does not reference a NFS volume type');
  const isReadOnly = persistent === undefined ? (nfs.readOnly ?? false) : readOnly;
  const server = isIPv6(nfs.server) ? `[${nfs.server}]` : nfs.server;
  return {
    source: `${server}:${nfs.path}`,
    readOnly: isReadOnly,
    options: optionsFor({ volume, readOnly: isReadOnly, ...(persistent && { persistent }) }),
  };
}
