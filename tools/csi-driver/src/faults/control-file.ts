import { type GrpcCode, grpcCode, grpcStatus } from '@node-agent/grpc';

/** Point of a call at which a fault happens. */
export type FaultPoint = 'before' | 'middle' | 'after';

/** Fault on demand. Conditions come first; the effects happen in the order delay, hang, die, failure. */
export interface FaultRule {
  /** Name of the RPC, such as `NodeStageVolume`; `*` is every RPC. */
  readonly rpc: string;
  /** Volume to which the fault is limited; absent for all. */
  readonly volumeId?: string;
  /**
   * `before`: nothing was done. `middle`: the first change was made (loop device attached, target created) and the next
   * was not. `after`: everything was done, and the response was not sent. Default: `before`.
   */
  readonly at: FaultPoint;
  /** Number of calls that the fault still hits; absent for no limit. */
  readonly times?: number;
  readonly delayMs?: number;
  /** Whether the call waits until the rule is removed from the file. */
  readonly hang?: boolean;
  /** Whether the driver kills itself. */
  readonly die?: boolean;
  readonly code?: GrpcCode;
  /** Details of the failure. Default: `injected fault`. */
  readonly message?: string;
  /** Whether the response is bytes that are not a message. */
  readonly garbage?: boolean;
}

/** Content of the control file. */
export interface Control {
  readonly faults: readonly FaultRule[];
  /** Limit that `NodeGetInfo` reports instead of the flag's. */
  readonly maxVolumesPerNode?: number;
  /** Volumes that are reported as unhealthy, with the message. */
  readonly unhealthy: Readonly<Record<string, string>>;
}

export const NO_CONTROL: Control = { faults: [], unhealthy: {} };

/** Parses the control file. @throws Error that names the field */
export function parseControl(text: string): Control {
  const value = objectOf(JSON.parse(text), 'control file');
  checkNames(value, ['faults', 'maxVolumesPerNode', 'unhealthy'], 'control file');
  const { faults = [], maxVolumesPerNode, unhealthy = {} } = value;
  if (!Array.isArray(faults)) throw new Error('faults must be a list');
  return {
    faults: faults.map((fault, index) => parseFault(fault, `faults[${index}]`)),
    unhealthy: Object.fromEntries(
      Object.entries(objectOf(unhealthy, 'unhealthy')).map(([id, message]) => [id, textOf(message, `unhealthy.${id}`)]),
    ),
    ...(maxVolumesPerNode !== undefined && { maxVolumesPerNode: numberOf(maxVolumesPerNode, 'maxVolumesPerNode') }),
  };
}

const FAULT_FIELDS = ['rpc', 'volumeId', 'at', 'times', 'delayMs', 'hang', 'die', 'code', 'message', 'garbage'];

function parseFault(fault: unknown, name: string): FaultRule {
  const value = objectOf(fault, name);
  checkNames(value, FAULT_FIELDS, name);
  const { rpc, volumeId, at = 'before', times, delayMs, hang, die, code, message, garbage } = value;
  if (at !== 'before' && at !== 'middle' && at !== 'after') {
    throw new Error(`${name}.at must be before, middle or after`);
  }
  return {
    rpc: textOf(rpc, `${name}.rpc`),
    at,
    ...(volumeId !== undefined && { volumeId: textOf(volumeId, `${name}.volumeId`) }),
    ...(times !== undefined && { times: numberOf(times, `${name}.times`) }),
    ...(delayMs !== undefined && { delayMs: numberOf(delayMs, `${name}.delayMs`) }),
    ...(hang !== undefined && { hang: booleanOf(hang, `${name}.hang`) }),
    ...(die !== undefined && { die: booleanOf(die, `${name}.die`) }),
    ...(code !== undefined && { code: codeOf(code, `${name}.code`) }),
    ...(message !== undefined && { message: textOf(message, `${name}.message`) }),
    ...(garbage !== undefined && { garbage: booleanOf(garbage, `${name}.garbage`) }),
  };
}

function objectOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${name} must be an object`);
}

function checkNames(value: Readonly<Record<string, unknown>>, known: readonly string[], name: string): void {
  const unknown = Object.keys(value).filter((field) => !known.includes(field));
  if (unknown.length > 0) throw new Error(`${name} has unknown fields: ${unknown.join(', ')}`);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${name} must be a non-empty string`);
}

function numberOf(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`${name} must be a non-negative integer`);
}

function booleanOf(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new Error(`${name} must be true or false`);
}

function codeOf(value: unknown, name: string): GrpcCode {
  const status = typeof value === 'string' ? grpcStatus(value as GrpcCode) : 0;
  if (status > 0) return grpcCode(status);
  throw new Error(`${name} must be a gRPC code such as UNAVAILABLE`);
}
