import type { CsiVolumeCapability } from '@node-agent/contracts';
import type { ContentSource, DriverState, SnapshotRecord, VolumeRecord } from '../state/records.ts';
import { backingFor, capabilityProblem, sameCapability } from './capabilities.ts';
import {
  type CapacityLimits,
  type CapacityRange,
  chooseKind,
  expandedSize,
  growthProblem,
  isInRange,
  usedByKind,
  volumeSize,
} from './capacity.ts';
import { isRefusal, type Refusal, refusal } from './refusal.ts';

/** Request of `CreateVolume`, reduced to what the rules need. */
export interface NewVolume {
  readonly name: string;
  readonly range: CapacityRange | undefined;
  readonly capabilities: readonly CsiVolumeCapability[];
  readonly parameters: Readonly<Record<string, string>>;
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly source: ContentSource | undefined;
}

/** Content that a new volume is copied from. */
type Source = Pick<VolumeRecord | SnapshotRecord, 'sizeBytes' | 'backing' | 'fsType' | 'isFormatted'>;

/**
 * Returns the existing volume of a name if the request is a repetition (`isNew` is false), or the volume to create. The
 * caller assigns the ID and the sequence number of a new volume.
 */
export function planVolume(
  state: DriverState,
  request: NewVolume,
  limits: CapacityLimits,
): { readonly isNew: boolean; readonly volume: Omit<VolumeRecord, 'id' | 'sequence'> & { id?: string } } | Refusal {
  const backing = backingFor(request.capabilities, request.parameters);
  if (isRefusal(backing)) return backing;
  const wantedBytes = volumeSize(request.range, limits.maxVolumeBytes);
  if (isRefusal(wantedBytes)) return wantedBytes;
  const existing = state.volumes.find(({ name }) => name === request.name);
  if (existing !== undefined) {
    const problem = repetitionProblem(existing, request, backing.fsType);
    return problem === undefined ? { isNew: false, volume: existing } : refusal('ALREADY_EXISTS', problem);
  }
  const source = sourceOf(state, request.source);
  if (isRefusal(source)) return source;
  const sourceFault = source && sourceProblem(source, backing, request.range);
  if (sourceFault) return sourceFault;
  const sizeBytes = request.range?.requiredBytes ? wantedBytes : Math.max(wantedBytes, source?.sizeBytes ?? 0);
  const kind = chooseKind(limits, usedByKind(state.volumes), request.parameters, sizeBytes);
  if (isRefusal(kind)) return kind;
  const { name, parameters, mutableParameters } = request;
  const volume = {
    ...{ name, sizeBytes, ...backing, kind, parameters, mutableParameters },
    ...(request.source && { source: request.source }),
    isFormatted: source?.isFormatted ?? false,
    mustGrow: backing.backing === 'file-system' && source !== undefined && source.sizeBytes < sizeBytes,
    isEphemeral: false,
    staged: [],
    published: [],
  };
  return { isNew: true, volume };
}

function repetitionProblem(existing: VolumeRecord, request: NewVolume, fsType: string): string | undefined {
  const exists = `volume ${JSON.stringify(existing.name)} exists`;
  if (!isInRange(existing.sizeBytes, request.range)) {
    return `${exists} with ${existing.sizeBytes} bytes, which is outside of capacity_range`;
  }
  const problem = request.capabilities
    .map((one) => capabilityProblem(existing, one))
    .find((text) => text !== undefined);
  if (problem !== undefined) return `${exists}: ${problem}`;
  if (existing.fsType !== fsType) return `${exists} with the file system ${existing.fsType}, not ${fsType}`;
  if (!sameEntries(existing.parameters, request.parameters)) return `${exists} with other parameters`;
  if (existing.source?.id !== request.source?.id) return `${exists} with another content source`;
  return undefined;
}

function sameEntries(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const text = (entries: Readonly<Record<string, string>>): string => JSON.stringify(Object.entries(entries).sort());
  return text(one) === text(other);
}

function sourceOf(state: DriverState, source: ContentSource | undefined): Source | undefined | Refusal {
  if (source === undefined) return undefined;
  if (source.type === 'snapshot') {
    const snapshot = state.snapshots.find(({ id }) => id === source.id);
    return snapshot ?? refusal('NOT_FOUND', `snapshot ${JSON.stringify(source.id)} does not exist`);
  }
  const volume = state.volumes.find(({ id }) => id === source.id);
  if (volume === undefined) return refusal('NOT_FOUND', `source volume ${JSON.stringify(source.id)} does not exist`);
  return copyProblem(volume) ?? volume;
}

function sourceProblem(
  source: Source,
  { backing, fsType }: Pick<VolumeRecord, 'backing' | 'fsType'>,
  range: CapacityRange | undefined,
): Refusal | undefined {
  if (source.backing !== backing || source.fsType !== fsType) {
    const textOf = (one: Pick<Source, 'backing' | 'fsType'>): string => one.fsType || one.backing;
    return refusal(
      'INVALID_ARGUMENT',
      `the source is ${textOf(source)}, the volume would be ${textOf({ backing, fsType })}`,
    );
  }
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  if (requiredBytes > 0 && requiredBytes < source.sizeBytes) {
    return refusal('OUT_OF_RANGE', `required_bytes ${requiredBytes} is below the source's ${source.sizeBytes} bytes`);
  }
  if (limitBytes > 0 && limitBytes < source.sizeBytes) {
    return refusal('OUT_OF_RANGE', `limit_bytes ${limitBytes} is below the source's ${source.sizeBytes} bytes`);
  }
  return undefined;
}

/**
 * Returns a problem if the content of a volume cannot be copied. The image of a mounted file system changes while it is
 * copied, so the copy could be damaged.
 */
export function copyProblem(volume: VolumeRecord): Refusal | undefined {
  if (volume.backing !== 'file-system' || (volume.staged.length === 0 && volume.published.length === 0))
    return undefined;
  return refusal(
    'FAILED_PRECONDITION',
    `volume ${volume.id} has a mounted file system: unstage it before it is copied`,
  );
}

/** Describes how a volume is used; '' if the volume is not used. */
export function usesOf({ attachment, staged, published }: VolumeRecord): string {
  return [
    ...(attachment ? ['attached'] : []),
    ...staged.map(({ path }) => `staged at ${path}`),
    ...published.map(({ path }) => `published at ${path}`),
  ].join(', ');
}

/** Returns the volume after an expansion by the controller. */
export function planExpansion(
  state: DriverState,
  volume: VolumeRecord,
  range: CapacityRange | undefined,
  limits: CapacityLimits,
): number | Refusal {
  const sizeBytes = expandedSize(volume.sizeBytes, range, limits.maxVolumeBytes);
  if (isRefusal(sizeBytes)) return sizeBytes;
  const problem = growthProblem(limits, usedByKind(state.volumes), volume.kind, sizeBytes - volume.sizeBytes);
  return problem ?? sizeBytes;
}

/**
 * Returns why a volume cannot be attached, for example because the volume is attached in another way or the node has
 * its maximum number of volumes; `undefined` if the volume can be attached.
 */
export function attachProblem(
  volume: VolumeRecord,
  request: { readonly nodeId: string; readonly readOnly: boolean; readonly capability: CsiVolumeCapability },
  node: { readonly nodeId: string; readonly attachLimit: number; readonly attachedCount: number },
): Refusal | undefined {
  if (request.nodeId !== node.nodeId) {
    return refusal(
      'NOT_FOUND',
      `node ${JSON.stringify(request.nodeId)} does not exist: the only node is ${node.nodeId}`,
    );
  }
  const unfit = capabilityProblem(volume, request.capability);
  if (unfit !== undefined) return refusal('INVALID_ARGUMENT', unfit);
  if (volume.attachment !== undefined) {
    const isSame =
      volume.attachment.readOnly === request.readOnly &&
      sameCapability(volume.attachment.capability, request.capability);
    return isSame ? undefined : refusal('ALREADY_EXISTS', 'the volume is attached in another way');
  }
  if (node.attachLimit > 0 && node.attachedCount >= node.attachLimit) {
    return refusal('RESOURCE_EXHAUSTED', `the node has ${node.attachedCount} attached volumes, which is its limit`);
  }
  return undefined;
}

/** Rejects mutable parameters that the driver does not know. If `accepted` is empty, all parameters are accepted. */
export function mutableParametersProblem(
  parameters: Readonly<Record<string, string>>,
  accepted: readonly string[],
): Refusal | undefined {
  const unknown = Object.keys(parameters).filter((name) => accepted.length > 0 && !accepted.includes(name));
  if (unknown.length === 0) return undefined;
  return refusal('INVALID_ARGUMENT', `mutable parameters not supported: ${unknown.join(', ')}`);
}
