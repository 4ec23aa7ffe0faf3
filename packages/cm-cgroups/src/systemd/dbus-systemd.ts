import {
  AsyncError,
  abortable,
  type Clock,
  checkComponents,
  checkOptions,
  systemClock,
  withTimeout,
} from '@node-agent/async';
import {
  type ByteStream,
  DbusConnection,
  DbusError,
  type DbusMessage,
  type DbusValue,
  Variant,
} from '@node-agent/dbus';
import { errorText } from '@node-agent/telemetry';
import { JobWatch } from './job-watch.ts';
import type { Systemd, UnitProperty } from './systemd.ts';
import { parseSystemdVersion } from './version.ts';

/** Socket at which systemd is reached. */
export interface SystemdEndpoint {
  /** Path of the socket. */
  readonly path: string;
  /** Whether the socket is a message bus with systemd as one of its peers; if false, it is systemd itself. */
  readonly isBus: boolean;
}

export interface DbusSystemdComponents {
  /** Opens a stream to a socket; the stream emits `error` if that fails. `net.connect` of Node.js implements it. */
  readonly connect: (path: string) => ByteStream;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

export interface DbusSystemdOptions {
  /** User id of this process, for authentication. */
  readonly userId: number;
  /**
   * Sockets, tried in this order. Default: the system bus, then systemd's private socket, which exists even before the
   * bus is started.
   */
  readonly endpoints?: readonly SystemdEndpoint[];
  /** Timeout of each reply, and of each job. Default: 30,000 (30 s). */
  readonly timeoutMs?: number;
}

const NAME = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const MANAGER = `${NAME}.Manager`;
const BUS = 'org.freedesktop.DBus';
const DEFAULT_ENDPOINTS: readonly SystemdEndpoint[] = [
  { path: '/run/dbus/system_bus_socket', isBus: true },
  { path: '/run/systemd/private', isBus: false },
];
const TIMEOUT_MS = 30_000;
/** Period of polling a job whose end was not signalled: a systemd that re-executes sends no signals. */
const ASK_MS = 1000;
const JOB_REMOVED = `type='signal',sender='${NAME}',path='${PATH}',interface='${MANAGER}',member='JobRemoved'`;

interface Joined {
  readonly connection: DbusConnection;
  readonly jobs: JobWatch;
}

/**
 * Client of systemd over D-Bus. The client connects at the first call, and reconnects if the connection was closed; all
 * calls are safe to repeat (`systemd/dbus.go`, `systemd/common.go` of opencontainers/cgroups;
 * org.freedesktop.systemd1(5)).
 */
export class DbusSystemd implements Systemd {
  readonly #connect: DbusSystemdComponents['connect'];
  readonly #clock: Clock;
  readonly #options: Required<DbusSystemdOptions>;
  #joined: Promise<Joined> | undefined;
  #version: number | undefined;

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: DbusSystemdComponents, options: DbusSystemdOptions) {
    const asked = checkOptions('DbusSystemd', options, { userId: 'count', endpoints: 'list?', timeoutMs: 'positive?' });
    checkComponents('DbusSystemd', components, { connect: 'function' });
    const { connect, clock = systemClock } = components;
    this.#connect = connect;
    this.#clock = clock;
    this.#options = { endpoints: DEFAULT_ENDPOINTS, timeoutMs: TIMEOUT_MS, ...asked };
  }

  async version(signal?: AbortSignal): Promise<number> {
    if (this.#version !== undefined) return this.#version;
    const { body } = await this.#again(
      ({ connection }) =>
        connection.call(onObject(PATH, `${BUS}.Properties`, 'Get', 'ss', [MANAGER, 'Version']), signal),
      signal,
    );
    this.#version = parseSystemdVersion(textOf(body[0]));
    return this.#version;
  }

  async startTransientUnit(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void> {
    const body = [name, 'replace', variants(properties), []];
    const start = () => this.#start(name, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', body, signal);
    try {
      await start();
    } catch (err) {
      if (!isRemote(err, 'UnitExists')) throw err;
      const state = await this.#activeState(name, signal);
      if (state === 'active') return;
      // The unit failed, or was stopped but is still loaded because something references it; it must be started.
      if (state === 'failed') await this.#resetFailed(name, signal);
      if (state === 'gone') await start();
      else await this.#start(name, 'StartUnit', 'ss', [name, 'replace'], signal);
    }
  }

  async setUnitProperties(name: string, properties: readonly UnitProperty[], signal?: AbortSignal): Promise<void> {
    const isRuntime = true;
    const call = manager('SetUnitProperties', 'sba(sv)', [name, isRuntime, variants(properties)]);
    await this.#again(({ connection }) => connection.call(call, signal), signal);
  }

  async stopUnit(name: string, signal?: AbortSignal): Promise<void> {
    try {
      // The job's result is ignored: the caller removes what is left of the cgroup.
      await this.#job(name, 'StopUnit', 'ss', [name, 'replace'], signal);
    } catch (err) {
      if (isRemote(err, 'NoSuchUnit')) return;
      throw err;
    }
    await this.#resetFailed(name, signal);
  }

  close(): void {
    const joined = this.#joined;
    this.#joined = undefined;
    joined?.then(
      ({ connection }) => connection.close(),
      () => undefined,
    );
  }

  /** Resets the failed state; does nothing if the unit has not failed or does not exist. */
  async #resetFailed(name: string, signal?: AbortSignal): Promise<void> {
    const call = manager('ResetFailedUnit', 's', [name]);
    await this.#again(({ connection }) => connection.call(call, signal), signal).catch((err: unknown) => {
      if (!isRemote(err, 'NoSuchUnit')) throw err;
    });
  }

  async #start(
    unit: string,
    member: string,
    signature: string,
    body: readonly DbusValue[],
    signal?: AbortSignal,
  ): Promise<void> {
    const result = await this.#job(unit, member, signature, body, signal);
    if (result === 'done' || (result === undefined && (await this.#activeState(unit, signal)) === 'active')) return;
    await this.#resetFailed(unit, signal).catch(() => undefined);
    const message = `error creating systemd unit \`${unit}\`: got \`${result ?? 'nothing'}\``;
    throw new DbusError('Remote', message, { remoteName: `${NAME}.JobFailed` });
  }

  /** Starts a job and waits until it has finished. @returns the job's result; `undefined` if it was not signalled */
  async #job(
    unit: string,
    member: string,
    signature: string,
    body: readonly DbusValue[],
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    return await this.#again(async ({ connection, jobs }) => {
      const { body: answer, sender } = await connection.call(manager(member, signature, body), signal);
      const path = textOf(answer[0]);
      using heard = jobs.result(path, sender);
      const endMs = this.#clock.monotonic() + this.#options.timeoutMs;
      while (this.#clock.monotonic() < endMs) {
        const result = await this.#within(ASK_MS, heard.result, signal);
        if (result !== undefined) return result;
        if (await this.#isOver(connection, path, signal)) return undefined;
      }
      throw new DbusError('Timeout', `Timeout waiting for systemd to finish ${member} of ${unit}`);
    }, signal);
  }

  async #within(timeoutMs: number, result: Promise<string>, signal?: AbortSignal): Promise<string | undefined> {
    try {
      return await withTimeout(this.#clock, timeoutMs, () => result, signal);
    } catch (err) {
      if (!AsyncError.is(err) || err.code !== 'Timeout' || signal?.aborted) throw err;
      return undefined;
    }
  }

  async #isOver(connection: DbusConnection, jobPath: string, signal?: AbortSignal): Promise<boolean> {
    const id = Number(jobPath.slice(jobPath.lastIndexOf('/') + 1));
    try {
      await connection.call(manager('GetJob', 'u', [id]), signal);
      return false;
    } catch (err) {
      if (isRemote(err, 'NoSuchJob')) return true;
      throw err;
    }
  }

  async #activeState(name: string, signal?: AbortSignal): Promise<string> {
    try {
      const { body } = await this.#again(async ({ connection }) => {
        const found = await connection.call(manager('GetUnit', 's', [name]), signal);
        const get = onObject(textOf(found.body[0]), `${BUS}.Properties`, 'Get', 'ss', [`${NAME}.Unit`, 'ActiveState']);
        return await connection.call(get, signal);
      }, signal);
      return textOf(body[0]);
    } catch (err) {
      if (isRemote(err, 'NoSuchUnit')) return 'gone';
      throw err;
    }
  }

  /** Repeats a call once if the connection was closed, for example because systemd re-executes. */
  async #again<T>(work: (joined: Joined) => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work(await this.#join(signal));
    } catch (err) {
      if (!DbusError.is(err) || err.code !== 'Closed') throw err;
      return await work(await this.#join(signal));
    }
  }

  /** Returns the connection, which concurrent callers share; opens it if necessary. */
  async #join(signal?: AbortSignal): Promise<Joined> {
    for (;;) {
      this.#joined ??= this.#joinAny().catch((err: unknown) => {
        this.#joined = undefined;
        throw err;
      });
      const joining = this.#joined;
      const joined = await abortable(joining, signal);
      if (!joined.connection.isClosed) return joined;
      if (this.#joined === joining) this.#joined = undefined;
    }
  }

  async #joinAny(): Promise<Joined> {
    const problems: string[] = [];
    for (const endpoint of this.#options.endpoints) {
      try {
        return await this.#joinOne(endpoint);
      } catch (err) {
        problems.push(`${endpoint.path}: ${errorText(err)}`);
      }
    }
    throw new DbusError('Closed', `cannot reach systemd: ${problems.join('; ')}`);
  }

  async #joinOne({ path, isBus }: SystemdEndpoint): Promise<Joined> {
    const { userId, timeoutMs } = this.#options;
    const jobs = new JobWatch();
    const onSignal = (message: DbusMessage): void => jobs.removed(message);
    const signals = [{ path: PATH, interface: MANAGER, member: 'JobRemoved', onSignal }];
    const connection = new DbusConnection(
      { clock: this.#clock, stream: this.#connect(path), signals },
      { userId, timeoutMs },
    );
    try {
      await connection.open(isBus);
      if (isBus) {
        const match = { destination: BUS, path: '/org/freedesktop/DBus', interface: BUS, member: 'AddMatch' };
        await connection.call({ ...match, signature: 's', body: [JOB_REMOVED] });
      }
      await connection.call(manager('Subscribe', '', []));
      return { connection, jobs };
    } catch (err) {
      connection.close();
      throw err;
    }
  }
}

function onObject(path: string, face: string, member: string, signature: string, body: readonly DbusValue[]) {
  return { destination: NAME, path, interface: face, member, signature, body } as const;
}

function manager(member: string, signature: string, body: readonly DbusValue[]): ReturnType<typeof onObject> {
  return onObject(PATH, MANAGER, member, signature, body);
}

function variants(properties: readonly UnitProperty[]): readonly DbusValue[] {
  return properties.map(([name, signature, value]) => [name, new Variant(signature, value)]);
}

function textOf(value: DbusValue | undefined): string {
  const bare = Variant.is(value) ? value.value : value;
  if (typeof bare !== 'string') throw new DbusError('Protocol', 'systemd must answer with a string');
  return bare;
}

function isRemote(err: unknown, name: string): boolean {
  return DbusError.is(err) && err.remoteName === `${NAME}.${name}`;
}
