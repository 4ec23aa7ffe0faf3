import type { CsiNodeCapabilities } from '@node-agent/contracts';
import { type GrpcCode, GrpcError } from '@node-agent/grpc';
import type {
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
  VolumeCapability,
} from '../generated/types.ts';
import { VolumeCapabilityAccessModeMode } from '../generated/types.ts';

/** A volume that is published to a pod. */
export interface PublishedVolume {
  readonly volumeId: string;
  readonly readOnly: boolean;
}

const { SINGLE_NODE_SINGLE_WRITER, SINGLE_NODE_MULTI_WRITER, UNKNOWN } = VolumeCapabilityAccessModeMode;

/** The volumes of a node that a driver has staged and published. */
export interface DriverVolumes {
  /** Staging paths by volume ID. */
  readonly staged: Map<string, string>;
  /** Published volumes by target path. */
  readonly published: Map<string, PublishedVolume>;
}

/**
 * The volumes of a node as a driver sees them, and the specification's rules for the caller. A repeated call succeeds,
 * as the specification requires of drivers.
 */
export class FakeVolumes implements DriverVolumes {
  readonly staged: Map<string, string> = new Map();
  readonly published: Map<string, PublishedVolume> = new Map();
  readonly violations: string[] = [];
  readonly #capabilities: () => CsiNodeCapabilities;

  constructor(capabilities: () => CsiNodeCapabilities) {
    this.#capabilities = capabilities;
  }

  stage({ volumeId, stagingTargetPath, volumeCapability }: NodeStageVolumeRequest): object {
    this.#mustSupport('stageUnstage', 'NodeStageVolume');
    this.#mustHave({ volumeId, stagingTargetPath }, 'NodeStageVolume');
    this.#checkCapability(volumeCapability, 'NodeStageVolume');
    const staged = this.staged.get(volumeId);
    if (staged !== undefined && staged !== stagingTargetPath) {
      this.#violation('FAILED_PRECONDITION', `NodeStageVolume: ${volumeId} is already staged at ${staged}`);
    }
    this.staged.set(volumeId, stagingTargetPath);
    return {};
  }

  unstage({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest): object {
    this.#mustSupport('stageUnstage', 'NodeUnstageVolume');
    this.#mustHave({ volumeId, stagingTargetPath }, 'NodeUnstageVolume');
    const [path] = [...this.published].find(([, volume]) => volume.volumeId === volumeId) ?? [];
    if (path !== undefined) {
      this.#violation('FAILED_PRECONDITION', `NodeUnstageVolume: ${volumeId} is still published at ${path}`);
    }
    this.staged.delete(volumeId);
    return {};
  }

  publish(request: NodePublishVolumeRequest): object {
    const { volumeId, stagingTargetPath, targetPath, volumeCapability, readonly: readOnly } = request;
    this.#mustHave({ volumeId, targetPath }, 'NodePublishVolume');
    this.#checkCapability(volumeCapability, 'NodePublishVolume');
    const isInline = request.volumeContext['csi.storage.k8s.io/ephemeral'] === 'true';
    if (this.#capabilities().stageUnstage && !isInline && this.staged.get(volumeId) !== stagingTargetPath) {
      this.#violation('FAILED_PRECONDITION', `NodePublishVolume: ${volumeId} is not staged at '${stagingTargetPath}'`);
    }
    const other = this.published.get(targetPath);
    if (other !== undefined && (other.volumeId !== volumeId || other.readOnly !== readOnly)) {
      this.#violation('ALREADY_EXISTS', `NodePublishVolume: ${targetPath} is already used by ${other.volumeId}`);
    }
    this.published.set(targetPath, { volumeId, readOnly });
    return {};
  }

  unpublish({ volumeId, targetPath }: NodeUnpublishVolumeRequest): object {
    this.#mustHave({ volumeId, targetPath }, 'NodeUnpublishVolume');
    this.published.delete(targetPath);
    return {};
  }

  expand(request: NodeExpandVolumeRequest): { readonly capacityBytes: bigint } {
    const { volumeId, volumePath, volumeCapability, capacityRange } = request;
    this.#mustSupport('expandVolume', 'NodeExpandVolume');
    this.#mustHave({ volumeId, volumePath }, 'NodeExpandVolume');
    if (volumeCapability !== null) this.#checkCapability(volumeCapability, 'NodeExpandVolume');
    this.#mustBeKnown(volumeId, 'NodeExpandVolume');
    return { capacityBytes: capacityRange?.requiredBytes ?? 0n };
  }

  checkStats({ volumeId, volumePath }: NodeGetVolumeStatsRequest): void {
    this.#mustSupport('volumeStats', 'NodeGetVolumeStats');
    this.#mustHave({ volumeId, volumePath }, 'NodeGetVolumeStats');
    this.#mustBeKnown(volumeId, 'NodeGetVolumeStats');
  }

  #mustBeKnown(volumeId: string, call: string): void {
    const isPublished = [...this.published.values()].some((volume) => volume.volumeId === volumeId);
    // A call for an unknown volume is no violation, because another client may have removed the volume.
    if (!isPublished && !this.staged.has(volumeId)) {
      throw new GrpcError({ code: 'NOT_FOUND', details: `${call}: no volume ${volumeId}` });
    }
  }

  #mustSupport(capability: keyof CsiNodeCapabilities, call: string): void {
    if (!this.#capabilities()[capability]) this.#violation('UNIMPLEMENTED', `${call}: no capability ${capability}`);
  }

  #mustHave(fields: Readonly<Record<string, string>>, call: string): void {
    for (const [name, value] of Object.entries(fields)) {
      if (value === '') this.#violation('INVALID_ARGUMENT', `${call}: ${name} is missing`);
      if (name.endsWith('Path') && !value.startsWith('/')) {
        this.#violation('INVALID_ARGUMENT', `${call}: ${name} must be absolute`);
      }
    }
  }

  #checkCapability(capability: VolumeCapability | null, call: string): void {
    const mode: number = capability?.accessMode?.mode ?? UNKNOWN;
    if (capability === null || mode === UNKNOWN) {
      this.#violation('INVALID_ARGUMENT', `${call}: the access mode is missing`);
    }
    if (capability.block === null && capability.mount === null) {
      this.#violation('INVALID_ARGUMENT', `${call}: the access type is missing`);
    }
    const { singleNodeMultiWriter, volumeMountGroup } = this.#capabilities();
    const isFine = mode === SINGLE_NODE_SINGLE_WRITER || mode === SINGLE_NODE_MULTI_WRITER;
    if (isFine && !singleNodeMultiWriter) this.#violation('INVALID_ARGUMENT', `${call}: unknown access mode ${mode}`);
    if ((capability.mount?.volumeMountGroup ?? '') !== '' && !volumeMountGroup) {
      this.#violation('INVALID_ARGUMENT', `${call}: volume_mount_group without the capability`);
    }
  }

  #violation(code: GrpcCode, details: string): never {
    this.violations.push(details);
    throw new GrpcError({ code, details });
  }
}
