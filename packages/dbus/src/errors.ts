import { brand, hasBrand } from '@node-agent/async';

/**
 * Reasons why a D-Bus operation failed:
 * - `Closed`: there is no connection, or the connection ended before the reply; whether the call was executed is
 *   unknown
 * - `Timeout`: no reply in time; whether the call was executed is unknown
 * - `Remote`: the peer replied with an error, whose name is in `remoteName`
 * - `Protocol`: invalid D-Bus data, or a value that does not match its signature
 */
export type DbusErrorCode = 'Closed' | 'Timeout' | 'Remote' | 'Protocol';

const BRAND = '@node-agent/dbus.DbusError';

/** The only error that this package throws. */
export class DbusError extends Error {
  static {
    brand(DbusError, BRAND);
  }

  override readonly name = 'DbusError';
  readonly code: DbusErrorCode;
  /** Name of the peer's error, for example `org.freedesktop.systemd1.NoSuchUnit`. Set only for the code `Remote`. */
  readonly remoteName: string | undefined;

  constructor(code: DbusErrorCode, message: string, options: { cause?: unknown; remoteName?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.remoteName = options.remoteName;
  }

  /** Returns whether a value is a `DbusError`, of this or of another copy of the package. */
  static is(value: unknown): value is DbusError {
    return hasBrand(value, BRAND);
  }
}
