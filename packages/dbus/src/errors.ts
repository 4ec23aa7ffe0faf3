import { brand, hasBrand } from '@node-agent/async';

/**
 * What went wrong on a bus:
 * - `Closed`: there is no connection, or it ended before the answer came: whether the call was carried out is not known
 * - `Timeout`: no answer in time; the same holds
 * - `Remote`: the peer answered with an error, whose name is in `remoteName`
 * - `Protocol`: bytes that are no D-Bus, or a value that does not fit its signature
 */
export type DbusErrorCode = 'Closed' | 'Timeout' | 'Remote' | 'Protocol';

const BRAND = '@node-agent/dbus.DbusError';

/** The one error that the D-Bus client throws. */
export class DbusError extends Error {
  static {
    brand(DbusError, BRAND);
  }

  override readonly name = 'DbusError';
  readonly code: DbusErrorCode;
  /** Such as `org.freedesktop.systemd1.NoSuchUnit`; only with `Remote`. */
  readonly remoteName: string | undefined;

  constructor(code: DbusErrorCode, message: string, options: { cause?: unknown; remoteName?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remoteName = options.remoteName;
  }

  /** Whether a value is a `DbusError`, of this copy of the package or of another one. */
  static is(value: unknown): value is DbusError {
    return hasBrand(value, BRAND);
  }
}
