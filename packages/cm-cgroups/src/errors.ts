import { brand, hasBrand } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';

/**
 * What went wrong with a group:
 * - `InvalidName`: a part of a name that no group may have
 * - `UnsupportedDriver`: the driver systemd where systemd does not run, or one that nobody knows
 * - `NoHierarchy`: no cgroups are mounted
 * - `MissingRoot`: a group that has to be there is not: that which all others are made in, or one that is held to a reservation
 * - `MissingController`: a limit of a controller that this machine has not got
 * - `Systemd`: systemd cannot be asked, or did not answer in time; to be tried again
 * - `Refused`: the kernel, or systemd, did not take a value; all others are set
 * - `Busy`: the group uses more than the limit that it is to get; all others are set
 * - `NotRemoved`: something is left in a group that is to go
 * - `Io`: anything else that the file system said
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

/** The one error that this package throws. */
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

  /** Whether a value is a `CgroupError`, of this copy of the package or of another one. */
  static is(value: unknown): value is CgroupError {
    return hasBrand(value, BRAND);
  }

  /** The error itself, or anything else that was thrown, as `Io`. */
  static from(error: unknown): CgroupError {
    return CgroupError.is(error) ? error : new CgroupError('Io', errorText(error), error);
  }
}
