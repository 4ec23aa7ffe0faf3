import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * Error codes of `CgroupError`:
 * - `InvalidName`: a name part is not valid for a cgroup
 * - `UnsupportedDriver`: the driver is systemd but systemd is not running, or the driver is unknown
 * - `NoHierarchy`: no cgroups are mounted
 * - `MissingRoot`: a required cgroup does not exist: the cgroup root, or the cgroup of a reservation
 * - `MissingController`: this machine lacks the controller of a limit
 * - `Systemd`: systemd could not be reached or did not answer in time; try again
 * - `Refused`: the kernel or systemd rejected a value; all other values are set
 * - `Busy`: the cgroup uses more than its new limit; all other values are set
 * - `NotRemoved`: a cgroup that must be removed still contains something
 * - `Io`: another file system error
 */
export type CgroupErrorCode =
  | 'InvalidName'
  | 'UnsupportedDriver'
  | 'NoHierarchy'
  | 'MissingRoot'
  | 'MissingController'
  | 'Systemd'
  | 'Refused'
  | 'Busy'
  | 'NotRemoved'
  | 'Io';

const BRAND = '@node-agent/cm-cgroups.CgroupError';

/** Error class of this package. */
export class CgroupError extends Error {
  static {
    brand(CgroupError, BRAND);
  }

  override readonly name = 'CgroupError';
  readonly code: CgroupErrorCode;

  constructor(code: CgroupErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }

  /** Returns whether `value` is a `CgroupError`, created by this or another copy of the package. */
  static is(value: unknown): value is CgroupError {
    return hasBrand(value, BRAND);
  }

  /** Returns the error itself if it is a `CgroupError`, else an `Io` error that wraps it. */
  static from(error: unknown): CgroupError {
    return CgroupError.is(error) ? error : new CgroupError('Io', errorText(error), error);
  }
}
