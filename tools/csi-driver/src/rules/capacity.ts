import { type Refusal, refusal } from './refusal.ts';

/** `CapacityRange` of a request; a value of 0 is unset. */
export interface CapacityRange {
  readonly requiredBytes: number;
  readonly limitBytes: number;
}

/** Limits of the driver in bytes. */
export interface CapacityLimits {
  readonly maxVolumeBytes: number;
  /** Capacity per storage kind. If empty, capacity is not limited. */
  readonly capacity: ReadonlyMap<string, number>;
}

/** Size of a volume whose request names none. */
export const DEFAULT_VOLUME_BYTES: number = 1 << 30;

/** Parameter of a storage class that selects the storage kind. */
const KIND_PARAMETER = 'kind';

/**
 * Returns the size of a new volume: the required size, or the default size within the limit.
 * @param range absent if the request has none
 */
export function volumeSize(range: CapacityRange | undefined, maxVolumeBytes: number): number | Refusal {
  const problem = rangeProblem(range, maxVolumeBytes);
  if (problem !== undefined) return problem;
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  if (requiredBytes > 0) return requiredBytes;
  return Math.min(DEFAULT_VOLUME_BYTES, maxVolumeBytes, limitBytes > 0 ? limitBytes : DEFAULT_VOLUME_BYTES);
}

/** Returns whether a volume of a size satisfies a request. */
export function isInRange(sizeBytes: number, range: CapacityRange | undefined): boolean {
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  return sizeBytes >= requiredBytes && (limitBytes === 0 || sizeBytes <= limitBytes);
}

/** Returns the size of a volume after its expansion. A volume that is large enough keeps its size. */
export function expandedSize(
  sizeBytes: number,
  range: CapacityRange | undefined,
  maxVolumeBytes: number,
): number | Refusal {
  if (range === undefined || (range.requiredBytes === 0 && range.limitBytes === 0)) {
    return refusal('INVALID_ARGUMENT', 'capacity_range is required');
  }
  const problem = rangeProblem(range, maxVolumeBytes);
  if (problem !== undefined) return problem;
  if (range.limitBytes > 0 && sizeBytes > range.limitBytes) {
    return refusal('OUT_OF_RANGE', `volume has ${sizeBytes} bytes, which is above limit_bytes ${range.limitBytes}`);
  }
  return Math.max(sizeBytes, range.requiredBytes);
}

function rangeProblem(range: CapacityRange | undefined, maxVolumeBytes: number): Refusal | undefined {
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  if (requiredBytes < 0 || limitBytes < 0) {
    return refusal('INVALID_ARGUMENT', 'required_bytes and limit_bytes must not be negative');
  }
  if (limitBytes > 0 && limitBytes < requiredBytes) {
    return refusal('OUT_OF_RANGE', `limit_bytes ${limitBytes} is below required_bytes ${requiredBytes}`);
  }
  if (requiredBytes > maxVolumeBytes) {
    return refusal('OUT_OF_RANGE', `required_bytes ${requiredBytes} is above the maximum of ${maxVolumeBytes}`);
  }
  return undefined;
}

/**
 * Returns the storage kind of a new volume: the parameter `kind`, or the kind with the most free capacity.
 * @param used bytes in use, by storage kind
 */
export function chooseKind(
  { capacity }: CapacityLimits,
  used: ReadonlyMap<string, number>,
  parameters: Readonly<Record<string, string>>,
  sizeBytes: number,
): string | Refusal {
  const wanted = parameters[KIND_PARAMETER] ?? '';
  if (capacity.size === 0) return wanted;
  if (wanted !== '' && !capacity.has(wanted)) {
    return refusal('INVALID_ARGUMENT', `parameter kind must be one of ${[...capacity.keys()].join(', ')}`);
  }
  const free = [...capacity]
    .filter(([kind]) => wanted === '' || kind === wanted)
    .map(([kind, bytes]) => [kind, bytes - (used.get(kind) ?? 0)] as const)
    .sort(([, one], [, other]) => other - one);
  const [kind, bytes] = free[0] ?? ['', 0];
  if (bytes >= sizeBytes) return kind;
  return refusal('RESOURCE_EXHAUSTED', `requested ${sizeBytes} bytes, available ${Math.max(bytes, 0)}`);
}

/** Returns why a volume of a storage kind cannot grow by a number of bytes; `undefined` if it can. */
export function growthProblem(
  { capacity }: CapacityLimits,
  used: ReadonlyMap<string, number>,
  kind: string,
  moreBytes: number,
): Refusal | undefined {
  const total = capacity.get(kind);
  if (total === undefined) return undefined;
  const free = total - (used.get(kind) ?? 0);
  if (moreBytes <= free) return undefined;
  return refusal('RESOURCE_EXHAUSTED', `requested ${moreBytes} more bytes, available ${Math.max(free, 0)}`);
}

/** Returns the largest volume that can be created with these parameters, in bytes. */
export function availableCapacity(
  limits: CapacityLimits,
  used: ReadonlyMap<string, number>,
  parameters: Readonly<Record<string, string>>,
): number {
  if (limits.capacity.size === 0) return limits.maxVolumeBytes;
  const kinds = [...limits.capacity.keys()].filter((kind) => (parameters[KIND_PARAMETER] ?? kind) === kind);
  return Math.max(0, ...kinds.map((kind) => (limits.capacity.get(kind) ?? 0) - (used.get(kind) ?? 0)));
}

/** Returns the used bytes per storage kind. */
export function usedByKind(
  volumes: Iterable<{ readonly kind: string; readonly sizeBytes: number }>,
): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const { kind, sizeBytes } of volumes) used.set(kind, (used.get(kind) ?? 0) + sizeBytes);
  return used;
}
