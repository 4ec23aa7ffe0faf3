import { addResources, parseQuantity, parseResourceList, Quantity, type ResourceList } from '@node-agent/pod-spec';
import { NodeStatusError } from './errors.ts';
import { cpuListLength } from './machine-info.ts';

/** The fields of the kubelet's configuration that reserve resources. */
export interface ReservationSettings {
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  /** Hard eviction thresholds by signal: `memory.available` and `nodefs.available` are reserved too. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /**
   * The CPU list `reservedSystemCPUs` (`0-1,6`). Its number of CPUs is reserved instead of the CPU amounts of
   * `kubeReserved` and `systemReserved`.
   */
  readonly reservedSystemCpus?: string;
  /** Whether hard eviction thresholds are not reserved (--experimental-allocatable-ignore-eviction). */
  readonly ignoreEviction?: boolean;
}

/** A hard eviction threshold: an amount, or a fraction of the capacity. */
export type Threshold = { readonly quantity: Quantity } | { readonly fraction: number };

/** The reservations after parsing. */
export interface Reservations {
  readonly reserved: ResourceList;
  /** Hard eviction thresholds of memory and ephemeral storage, by resource. */
  readonly thresholds: ReadonlyMap<string, Threshold>;
}

const SIGNALS = { memory: 'memory.available', 'ephemeral-storage': 'nodefs.available' } as const;

/** Parses the reservations. @throws NodeStatusError `InvalidOptions` that names the field */
export function parseReservations(settings: ReservationSettings): Reservations {
  const reserved = addResources(
    reservationOf('systemReserved', settings.systemReserved),
    reservationOf('kubeReserved', settings.kubeReserved),
  );
  const cpuList = settings.reservedSystemCpus ?? '';
  if (cpuList !== '') {
    const count = cpuListLength(cpuList);
    if (count === undefined) {
      throw new NodeStatusError('InvalidOptions', `reservedSystemCPUs: ${JSON.stringify(cpuList)} is no list of CPUs`);
    }
    reserved.set('cpu', Quantity.of(count));
  }
  const thresholds = new Map<string, Threshold>();
  if (settings.ignoreEviction !== true) {
    for (const resource of ['memory', 'ephemeral-storage'] as const) {
      const text = settings.evictionHard[SIGNALS[resource]];
      const threshold = text === undefined ? undefined : parseThreshold(SIGNALS[resource], text);
      if (threshold !== undefined) thresholds.set(resource, threshold);
    }
  }
  return { reserved, thresholds };
}

function reservationOf(field: string, list: Readonly<Record<string, string>>): ResourceList {
  try {
    return parseResourceList(list);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NodeStatusError('InvalidOptions', `${field}: ${why}`, { cause });
  }
}

/**
 * Parses a hard eviction threshold, such as `100Mi` or `10%`. Returns `undefined` for `0%` and `100%`, which disable
 * the threshold (`eviction/helpers.go`).
 * @throws NodeStatusError `InvalidOptions` that names the signal
 */
export function parseThreshold(signal: string, text: string): Threshold | undefined {
  const refuse = (why: string, cause?: unknown): never => {
    const shown = `evictionHard[${JSON.stringify(signal)}]: ${JSON.stringify(text)} ${why}`;
    throw new NodeStatusError('InvalidOptions', shown, { cause });
  };
  if (text === '0%' || text === '100%') return undefined;
  if (text.endsWith('%')) {
    const percent = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?%$/.test(text) ? Number(text.slice(0, -1)) : Number.NaN;
    if (!(percent >= 0 && percent <= 100)) return refuse('is no percentage from 0% to 100%');
    // Go parses the value as a 32-bit float; the same rounding gives the same reservation to the byte.
    return { fraction: Math.fround(Math.fround(percent) / 100) };
  }
  try {
    const quantity = parseQuantity(text);
    return quantity.compare(Quantity.zero) > 0 ? { quantity } : refuse('must be positive');
  } catch (cause) {
    if (cause instanceof NodeStatusError) throw cause;
    return refuse(`is no quantity: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/**
 * Returns the reserved amount of each resource (`cm/node_container_manager_linux.go`, GetNodeAllocatableReservation).
 * Thresholds in percent are percentages of the capacity.
 */
export function reservationOfCapacity(capacity: ResourceList, { reserved, thresholds }: Reservations): ResourceList {
  const sums = new Map<string, Quantity>();
  for (const name of capacity.keys()) {
    const eviction = thresholds.get(name);
    const kept = eviction === undefined ? Quantity.zero : thresholdQuantity(eviction, capacity.get(name));
    const sum = (reserved.get(name) ?? Quantity.zero).add(kept);
    if (!sum.isZero) sums.set(name, sum);
  }
  return sums;
}

function thresholdQuantity(threshold: Threshold, capacity: Quantity = Quantity.zero): Quantity {
  if ('quantity' in threshold) return threshold.quantity;
  return Quantity.of(Math.trunc(Number(capacity.value()) * threshold.fraction), 'BinarySI');
}

/**
 * Returns a problem for each resource whose reservation exceeds the capacity (`validateNodeAllocatable`). A kubelet
 * with such a problem does not start. The list is empty if the reservations are valid.
 */
export function reservationProblems(capacity: ResourceList, reservations: Reservations): readonly string[] {
  return [...reservationOfCapacity(capacity, reservations)].flatMap(([name, kept]) => {
    const available = capacity.get(name) ?? Quantity.zero;
    if (available.compare(kept) >= 0) return [];
    const text = `has a reservation of ${kept} but capacity of ${available}. Expected capacity >= reservation.`;
    return [`Resource ${JSON.stringify(name)} ${text}`];
  });
}
