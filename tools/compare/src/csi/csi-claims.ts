import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ControlPlane } from '@node-agent/tools-control-plane';
import type { VolumeWish } from '@node-agent/tools-csi-driver';
import type { OwnNames } from '../normalise.ts';
import { type CsiDrivers, type DriverKey, driverName } from './drivers.ts';

/** Fault that the CSI driver simulates for one volume. */
interface CallFault {
  readonly rpc: string;
  /**
   * gRPC code with which the call fails. After `DEADLINE_EXCEEDED`, the kubelet does not know whether the call had an
   * effect.
   */
  readonly code: 'INTERNAL' | 'DEADLINE_EXCEEDED';
  /** When the call fails: before its effect, or after its effect. */
  readonly at?: 'before' | 'after';
  /** Number of calls that fail. Default: all. */
  readonly times?: number;
}

/** Claim, and the PersistentVolume of a CSI driver that it is bound to. */
interface CsiClaim {
  readonly driver: DriverKey;
  readonly volume?: Pick<VolumeWish, 'isBlock' | 'fsType'>;
  readonly accessMode?: string;
  /** Fields of the PersistentVolume's source. */
  readonly csi?: Readonly<Record<string, unknown>>;
  readonly mountOptions?: readonly string[];
  /** Calls for this volume that fail. Default: none. */
  readonly fails?: CallFault;
  /** Whether the VolumeAttachment says that the volume is attached. */
  readonly isAttached?: boolean;
  /** Whether the volume is larger than the claim knows, so that the kubelet expands its file system. */
  readonly grows?: boolean;
  /** Whether the claim is a `volumeClaimTemplate`, so that it is created together with its pod. */
  readonly isTemplate?: boolean;
}

const EXT4 = { fsType: 'ext4' };
const SECRET = { name: 'here', namespace: '' };
const SHARED = { accessMode: 'ReadWriteMany' };

const refuses = (rpc: string): CallFault => ({ rpc, code: 'INTERNAL' });
const timesOut = (rpc: string): CallFault => ({ rpc, code: 'DEADLINE_EXCEEDED', at: 'after' });

/** Claims by their names. One pod uses each claim, unless the claim's name says otherwise. */
export const CSI_CLAIMS: Readonly<Record<string, CsiClaim>> = {
  'csi-directory': { driver: 'files' },
  'csi-ext4': {
    driver: 'files',
    volume: EXT4,
    mountOptions: ['noatime'],
    csi: { volumeAttributes: { colour: 'red' }, nodeStageSecretRef: SECRET, nodePublishSecretRef: SECRET },
  },
  'csi-mismatch': { driver: 'files' },
  'csi-read-only': { driver: 'files', csi: { readOnly: true } },
  'csi-read-only-mount': { driver: 'files' },
  'csi-read-only-claim': { driver: 'files', volume: EXT4 },
  'csi-sub-path': { driver: 'files' },
  'csi-shared': { driver: 'files', ...SHARED },
  'csi-once': { driver: 'files', accessMode: 'ReadWriteOncePod' },
  'csi-stage-fails': { driver: 'files', fails: refuses('NodeStageVolume') },
  'csi-publish-fails': { driver: 'files', fails: refuses('NodePublishVolume') },
  'csi-stage-uncertain': { driver: 'files', fails: { ...timesOut('NodeStageVolume'), times: 2 } },
  'csi-unpublish-fails-deleted': { driver: 'files', fails: { ...refuses('NodeUnpublishVolume'), times: 2 } },
  'csi-unstage-fails-deleted': { driver: 'files', fails: { ...refuses('NodeUnstageVolume'), times: 2 } },
  'csi-stage-fails-deleted': { driver: 'files', fails: refuses('NodeStageVolume') },
  'csi-stage-uncertain-deleted': { driver: 'files', fails: timesOut('NodeStageVolume') },
  'csi-publish-uncertain-deleted': { driver: 'files', fails: timesOut('NodePublishVolume') },
  'csi-grows': { driver: 'files', grows: true },
  'csi-deleted': { driver: 'files', volume: EXT4 },
  'csi-ephemeral-v': { driver: 'files', isTemplate: true },
  'csi-of-nobody-v': { driver: 'files' },
  'csi-plain-directory': { driver: 'plain' },
  'csi-plain-ext4': { driver: 'plain', volume: EXT4 },
  'csi-plain-shared': { driver: 'plain', volume: EXT4, ...SHARED },
  'csi-block': { driver: 'plain', volume: { isBlock: true } },
  'csi-block-read-only': { driver: 'plain', volume: { isBlock: true }, csi: { readOnly: true } },
  'csi-block-mounted': { driver: 'plain', volume: { isBlock: true } },
  'csi-mounted-as-block': { driver: 'plain' },
  'csi-block-deleted': { driver: 'plain', volume: { isBlock: true } },
  'csi-block-fails': { driver: 'plain', volume: { isBlock: true }, fails: refuses('NodePublishVolume') },
  'csi-unstaged': { driver: 'unstaged' },
  'csi-unstaged-ext4': { driver: 'unstaged', volume: EXT4 },
  'csi-unstaged-block': { driver: 'unstaged', volume: { isBlock: true } },
  'csi-attached': { driver: 'attached', isAttached: true },
  'csi-attached-ext4': { driver: 'attached', volume: EXT4, isAttached: true },
  'csi-attached-block': { driver: 'attached', volume: { isBlock: true }, isAttached: true },
  'csi-not-attached': { driver: 'attached' },
  'csi-absent': { driver: 'absent' },
};

/** Volume that was created for a side. */
export interface CsiVolume {
  readonly claim: string;
  /** Name of the PersistentVolume. */
  readonly name: string;
  readonly handle: string;
}

const SIZE = '16Mi';
const GROWN = '32Mi';

/** Dependencies of {@link makeCsiClaims}. */
export interface CsiClaimComponents {
  /** Name of the side's node and namespace. */
  readonly side: string;
  readonly controlPlane: Pick<ControlPlane, 'json' | 'kubectl'>;
  readonly drivers: CsiDrivers;
}

/** Creates the volumes of a side with their claims. The claims are not bound yet when this resolves. */
export async function makeCsiClaims({
  side,
  controlPlane,
  drivers,
}: CsiClaimComponents): Promise<readonly CsiVolume[]> {
  const volumes: CsiVolume[] = [];
  const faults = new Map<DriverKey, object[]>();
  for (const [claim, wanted] of Object.entries(CSI_CLAIMS)) {
    const { driver, fails } = wanted;
    const handle = await makeVolume(drivers, claim, wanted);
    if (fails !== undefined) {
      const fault = { ...fails, volumeId: handle, message: 'the disk is on fire' };
      faults.set(driver, [...(faults.get(driver) ?? []), fault]);
    }
    const volume = { claim, handle, name: `${side}-${claim}` };
    volumes.push(volume);
    await makeObjects(side, controlPlane, volume, wanted);
    if (wanted.isAttached) await makeAttachment(side, controlPlane, drivers, volume, wanted);
  }
  for (const [driver, list] of faults) await drivers.of(driver).control({ faults: list });
  return volumes;
}

/** Creates a volume, with files in it if it is a directory. @returns its ID */
async function makeVolume(drivers: CsiDrivers, claim: string, { driver, volume }: CsiClaim): Promise<string> {
  // No process serves this driver, so the claim's name can be the ID.
  if (driver === 'absent') return claim;
  const handle = await drivers.of(driver).createVolume(claim, volume);
  if (volume !== undefined) return handle;
  const content = drivers.of(driver).contentOf(handle, 'data');
  await mkdir(join(content, 'folder'), { mode: 0o700 });
  await writeFile(join(content, 'folder/file'), 'content', { mode: 0o600 });
  return handle;
}

async function makeObjects(
  side: string,
  controlPlane: Pick<ControlPlane, 'json'>,
  { claim, name, handle }: CsiVolume,
  { driver, volume, accessMode = 'ReadWriteOnce', csi = {}, mountOptions, isTemplate = false }: CsiClaim,
): Promise<void> {
  const volumeMode = volume?.isBlock ? 'Block' : 'Filesystem';
  const modes = { accessModes: [accessMode], volumeMode, storageClassName: '' };
  const inNamespace = Object.entries(csi).map(([field, value]) => [
    field,
    value === SECRET ? { ...SECRET, namespace: side } : value,
  ]);
  const fsType = volume?.fsType === undefined ? {} : { fsType: volume.fsType };
  const source = { driver: driverName(driver), volumeHandle: handle, ...fsType, ...Object.fromEntries(inNamespace) };
  const spec = {
    ...modes,
    capacity: { storage: SIZE },
    persistentVolumeReclaimPolicy: 'Retain',
    mountOptions,
    csi: source,
  };
  await controlPlane.json('POST', '/api/v1/persistentvolumes', { metadata: { name }, spec });
  if (isTemplate) return;
  await controlPlane.json('POST', `/api/v1/namespaces/${side}/persistentvolumeclaims`, {
    metadata: { name: claim },
    spec: { ...modes, volumeName: name, resources: { requests: { storage: SIZE } } },
  });
}

/**
 * Creates the VolumeAttachment of a volume, as an external attacher would leave it, but before a pod uses the volume.
 * The attach/detach controller then finds it instead of creating one.
 */
async function makeAttachment(
  side: string,
  controlPlane: Pick<ControlPlane, 'json' | 'kubectl'>,
  drivers: CsiDrivers,
  { name: persistentVolumeName, handle }: CsiVolume,
  { driver, volume }: CsiClaim,
): Promise<void> {
  const attacher = driverName(driver);
  const name = `csi-${sha256(`${handle}${attacher}${side}`)}`;
  const spec = { attacher, nodeName: side, source: { persistentVolumeName } };
  await controlPlane.json('POST', '/apis/storage.k8s.io/v1/volumeattachments', { metadata: { name }, spec });
  const status = { attached: true, attachmentMetadata: await drivers.of(driver).attachVolume(handle, volume) };
  await patchStatus(controlPlane, ['volumeattachment', name], status);
}

/** Names of the claims that exist before their pods. */
export const BOUND_CLAIMS: readonly string[] = Object.entries(CSI_CLAIMS).flatMap(([name, { isTemplate = false }]) =>
  isTemplate ? [] : [name],
);

/** Increases the size of the volumes that the node must expand, after their claims are bound. */
export async function growVolumes({ side, controlPlane }: Omit<CsiClaimComponents, 'drivers'>): Promise<void> {
  for (const [claim, { grows = false }] of Object.entries(CSI_CLAIMS)) {
    if (!grows) continue;
    const patch = `--patch=${JSON.stringify({ spec: { capacity: { storage: GROWN } } })}`;
    await controlPlane.kubectl(['patch', 'persistentvolume', `${side}-${claim}`, '--type=merge', patch]);
    const status = {
      allocatedResources: { storage: GROWN },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
    };
    await patchStatus(controlPlane, ['persistentvolumeclaim', claim, `--namespace=${side}`], status);
  }
}

async function patchStatus(
  controlPlane: Pick<ControlPlane, 'kubectl'>,
  object: readonly string[],
  status: object,
): Promise<void> {
  const patch = `--patch=${JSON.stringify({ status })}`;
  await controlPlane.kubectl(['patch', ...object, '--subresource=status', '--type=merge', patch]);
}

/** Returns the name of the directory in which a volume is staged. */
export function stagedName(handle: string): string {
  return sha256(handle);
}

/**
 * Returns placeholders for the volume IDs and the names of the volumes' directories, because both differ between the
 * sides.
 */
export function namesOfVolumes(volumes: readonly CsiVolume[]): OwnNames {
  return Object.fromEntries(
    volumes.flatMap(({ claim, handle }) => [
      ...(handle === claim ? [] : [[handle, `<volume of ${claim}>`]]),
      [stagedName(handle), `<hash of ${claim}>`],
    ]),
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
