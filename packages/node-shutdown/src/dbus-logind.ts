import { type Clock, CoalescingQueue, checkComponents, checkOptions, systemClock } from '@node-agent/async';
import {
  type ByteStream,
  type DbusCall,
  DbusConnection,
  type DbusMessage,
  type DbusValue,
  Variant,
} from '@node-agent/dbus';
import { errorText, type Logger, silentLogger } from '@node-agent/telemetry';
import { NodeShutdownError } from './errors.ts';
import type { Logind, LogindSession } from './logind.ts';

/** Dependencies of a {@link DbusLogind}. */
export interface DbusLogindComponents {
  /**
   * Opens a stream to a socket. If the socket cannot be opened, the stream emits `error`. `net.connect` of Node.js
   * implements this function.
   */
  readonly connect: (path: string) => ByteStream;
  /** Clock of the timeouts. Default: the system clock. */
  readonly clock?: Clock;
  /** Logger of the client. Default: no logging. */
  readonly logger?: Logger;
}

/** Options of a {@link DbusLogind}. */
export interface DbusLogindOptions {
  /** User id of this process, for authentication. */
  readonly userId: number;
  /**
   * Socket of the system bus. Default: `/run/dbus/system_bus_socket`. `SystemdInhibit` uses DBUS_SYSTEM_BUS_ADDRESS
   * instead.
   */
  readonly busPath?: string;
}

const BUS = 'org.freedesktop.DBus';
const LOGIND = 'org.freedesktop.login1';
const LOGIND_PATH = '/org/freedesktop/login1';
const LOGIND_MANAGER = `${LOGIND}.Manager`;
const SYSTEMD = 'org.freedesktop.systemd1';
const LOGIND_UNIT = 'systemd-logind.service';
const SIGHUP = 1;
const SIGNAL = 'PrepareForShutdown';
/** D-Bus match rule for logind's shutdown signal. As in upstream, the signal may come from any sender. */
const MATCH = `type='signal',path='${LOGIND_PATH}',interface='${LOGIND_MANAGER}',member='${SIGNAL}'`;

/** Client of logind over the system bus (`pkg/kubelet/nodeshutdown/systemd/inhibit_linux.go`). */
export class DbusLogind implements Logind {
  readonly #components: Required<DbusLogindComponents>;
  readonly #options: Required<DbusLogindOptions>;

  constructor(components: DbusLogindComponents, options: DbusLogindOptions) {
    const asked = checkOptions('DbusLogind', options, { userId: 'count', busPath: 'string?' });
    checkComponents('DbusLogind', components, { connect: 'function' });
    const { connect, clock = systemClock, logger = silentLogger } = components;
    this.#components = { connect, clock, logger };
    this.#options = { busPath: '/run/dbus/system_bus_socket', ...asked };
  }

  async connect(signal: AbortSignal): Promise<LogindSession> {
    const { connect, clock, logger } = this.#components;
    const { userId, busPath } = this.#options;
    // If several values arrive before the reader takes one, only the latest is kept.
    const shutdowns = new CoalescingQueue<typeof SIGNAL, boolean>();
    const onSignal = (message: DbusMessage): void => {
      const [isShuttingDown] = message.body;
      if (typeof isShuttingDown === 'boolean') shutdowns.push(SIGNAL, isShuttingDown);
      else {
        const problem = message.body.length === 0 ? 'empty' : 'not bool type as expected';
        logger.error({}, `Failed obtaining shutdown event, ${SIGNAL} event was ${problem}`);
      }
    };
    const signals = [{ path: LOGIND_PATH, interface: LOGIND_MANAGER, member: SIGNAL, onSignal }];
    const connection = new DbusConnection({ clock, logger, stream: connect(busPath), signals }, { userId });
    void connection.closed.then(() => shutdowns.close());
    try {
      await connection.open(true, signal);
      const match = { destination: BUS, path: '/org/freedesktop/DBus', interface: BUS, member: 'AddMatch' };
      await connection.call({ ...match, signature: 's', body: [MATCH] }, signal);
    } catch (err) {
      connection.close();
      signal.throwIfAborted();
      throw new NodeShutdownError('Logind', `cannot use the system bus ${busPath}: ${errorText(err)}`, {
        cause: err,
      });
    }
    return {
      shutdowns: valuesOf(shutdowns),
      async inhibitDelayMs(ending) {
        const delay = await property(connection, 'InhibitDelayMaxUSec', ending);
        if (typeof delay === 'bigint') return Number(delay) / 1000;
        throw new NodeShutdownError('Logind', 'InhibitDelayMaxUSec from logind is not a uint64 as expected');
      },
      async isPreparingForShutdown(ending) {
        const preparing = await property(connection, 'PreparingForShutdown', ending);
        if (typeof preparing === 'boolean') return preparing;
        throw new NodeShutdownError('Logind', 'PreparingForShutdown from logind is not a boolean as expected');
      },
      async reloadConfiguration(ending) {
        const kill = { destination: SYSTEMD, path: '/org/freedesktop/systemd1', interface: `${SYSTEMD}.Manager` };
        const body = [LOGIND_UNIT, 'all', SIGHUP];
        const call = { ...kill, member: 'KillUnit', signature: 'ssi', body };
        await asked(connection, call, 'unable to reload logind conf', ending);
      },
      close: () => connection.close(),
    };
  }
}

async function* valuesOf<T>(entries: AsyncIterable<readonly [unknown, T]>): AsyncGenerator<T> {
  for await (const [, value] of entries) yield value;
}

async function property(connection: DbusConnection, name: string, signal: AbortSignal): Promise<DbusValue | undefined> {
  const { body } = await asked(
    connection,
    {
      destination: LOGIND,
      path: LOGIND_PATH,
      interface: `${BUS}.Properties`,
      member: 'Get',
      signature: 'ss',
      body: [LOGIND_MANAGER, name],
    },
    `failed reading ${name} property from logind`,
    signal,
  );
  const [value] = body;
  return Variant.is(value) ? value.value : value;
}

async function asked(
  connection: DbusConnection,
  call: DbusCall,
  failure: string,
  signal: AbortSignal,
): Promise<DbusMessage> {
  try {
    return await connection.call(call, signal);
  } catch (err) {
    signal.throwIfAborted();
    throw new NodeShutdownError('Logind', `${failure}: ${errorText(err)}`, { cause: err });
  }
}
