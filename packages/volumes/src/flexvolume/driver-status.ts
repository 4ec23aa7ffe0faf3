import { VolumeError } from '../errors.ts';

/** Capabilities of a driver. */
export interface FlexCapabilities {
  /** Whether a controller attaches volumes to nodes, and volumes are mounted once per node. */
  readonly attach: boolean;
  /** Whether the files of volumes may be relabelled for SELinux. */
  readonly selinuxRelabel: boolean;
  /** Whether the usage of volumes can be read from their file system. */
  readonly supportsMetrics: boolean;
  /** Whether the kubelet changes the group of a volume's files to the pod's fsGroup. */
  readonly fsGroup: boolean;
  /** Whether the file system grows on the node after the controller has expanded a volume. */
  readonly requiresFsResize: boolean;
}

/** Response of a driver to a successful command. */
export interface DriverStatus {
  /** Path of the device; '' if the driver named none. */
  readonly device: string;
  readonly capabilities: FlexCapabilities;
}

/** Response to a command that the driver does not implement; the kubelet then performs the step itself. */
export const NOT_SUPPORTED = 'Not supported';

/** Result of a driver's program. */
export interface DriverResult {
  readonly exitCode: number;
  readonly output: string;
}

/**
 * Returns the response of a driver to a command (`handleCmdResponse` and `DriverCall.Run` of
 * `pkg/volume/flexvolume/driver-call.go`). As in Go, the case of JSON keys does not matter.
 * @throws VolumeError `DriverFailed` if the command failed, or the output is not a response
 */
export function driverStatus(
  driver: string,
  command: string,
  { exitCode, output }: DriverResult,
): DriverStatus | typeof NOT_SUPPORTED {
  const failed = (why: string): VolumeError => new VolumeError('DriverFailed', why);
  const response = fieldsOf(parsed(output));
  if (response === undefined) {
    const shown = output === '' ? 'empty' : output.slice(0, 500);
    const why = `output must be a JSON object, but is: ${shown} (exit code ${exitCode})`;
    throw failed(`${command} command of flexVolume driver ${driver} failed: ${why}`);
  }
  const text = (name: string): string => {
    const value = response.get(name);
    return typeof value === 'string' ? value : '';
  };
  const status = text('status');
  if (status === NOT_SUPPORTED) return NOT_SUPPORTED;
  if (status !== 'Success') {
    throw failed(`${command} command failed, status: ${status}, reason: ${text('message')}`);
  }
  if (exitCode !== 0) throw failed(`exit status ${exitCode}`);
  return { device: text('device'), capabilities: capabilitiesOf(fieldsOf(response.get('capabilities'))) };
}

function capabilitiesOf(fields: ReadonlyMap<string, unknown> = new Map()): FlexCapabilities {
  const can = (name: string, byDefault: boolean): boolean => {
    const value = fields.get(name);
    return typeof value === 'boolean' ? value : byDefault;
  };
  return {
    ...{ attach: can('attach', true), selinuxRelabel: can('selinuxrelabel', true) },
    ...{ supportsMetrics: can('supportsmetrics', false), fsGroup: can('fsgroup', true) },
    requiresFsResize: can('requiresfsresize', true),
  };
}

/** Returns the fields of an object by their name in lower case; `undefined` for any other value. */
function fieldsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}
