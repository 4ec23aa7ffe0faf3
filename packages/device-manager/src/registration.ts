import path from 'node:path';
import { type Clock, CoalescingQueue, linkAbort, sleep } from '@node-agent/async';
import { GrpcError, type GrpcTransport } from '@node-agent/grpc';
import { isExtendedResource } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import { type Device, readDevices } from './device.ts';
import type { RegisterRequest } from './generated/types.ts';
import { MAX_RESOURCES } from './inventory.ts';
import { Plugin, type SentList } from './plugin.ts';

/** `SupportedVersions`. */
const VERSION = 'v1beta1';
/** No name of a resource is longer. */
const MAX_SHOWN = 317;
/** How far apart lists of one plugin are taken, and how many devices are taken in a second: one that tells without end holds up nobody. */
const MIN_PAUSE_MS = 100;
const DEVICES_PER_SECOND = 100_000;
/** What it costs a plugin to be heard meanwhile, in time: so many lists and bytes in a second, and of 100 ms at once. */
const LISTS_PER_SECOND = 1_000;
const BYTES_PER_SECOND = 32 * 1024 * 1024;
const HEARD_AT_ONCE_MS = 100;

/** What becomes of plugins. */
interface PluginEvents {
  /** Somebody wants to register for it. */
  asked(resource: string): void;
  /** It can be asked for devices; what an earlier one of its resource told holds until it tells more. */
  plugged(resource: string): void;
  told(resource: string, devices: ReadonlyMap<string, Device>): void;
  /** It is gone, and no other has taken its place. */
  unplugged(resource: string): void;
  /** Nothing is known of it any more. */
  forgotten(resource: string): void;
}

/** What {@link Plugins} works with. */
interface PluginsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly transport: GrpcTransport;
  /** The resources that the node has by now. */
  readonly known: { readonly size: number; has(resource: string): boolean };
}

/**
 * The plugins that have made themselves known, one for each resource (`plugin/v1beta1`). Another that registers for a resource takes
 * the place of the one before once it has answered; one that does not answer takes nobody's.
 */
export class Plugins {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #transport: GrpcTransport;
  readonly #known: PluginsParts['known'];
  readonly #events: PluginEvents;
  readonly #plugins = new Map<string, { readonly plugin: Plugin; readonly turn: number }>();
  readonly #counted = new Set<string>();
  /** Of two registrations for one resource the later one counts, whichever plugin answers first. */
  #turn = 0;
  #ending: AbortSignal = new AbortController().signal;

  constructor({ clock, logger, transport, known }: PluginsParts, events: PluginEvents) {
    this.#clock = clock;
    this.#logger = logger;
    this.#transport = transport;
    this.#known = known;
    this.#events = events;
  }

  /** One that is gone refuses what it is asked. */
  get(resource: string): Plugin | undefined {
    return this.#plugins.get(resource)?.plugin;
  }

  forget(resource: string): void {
    this.get(resource)?.close();
    this.#plugins.delete(resource);
    this.#counted.delete(resource);
    this.#events.forgotten(resource);
  }

  /** From now on plugins are followed until the signal is aborted. */
  begin(ending: AbortSignal): void {
    this.#ending = ending;
    const closeAll = (): void => {
      for (const { plugin } of this.#plugins.values()) plugin.close();
    };
    ending.addEventListener('abort', closeAll, { once: true });
  }

  /**
   * Answers a registration (`Register`, `server.go`), in its words.
   * @throws GrpcError
   */
  async register(directory: string, request: RegisterRequest, signal: AbortSignal): Promise<void> {
    const { version, resourceName: resource, endpoint } = request;
    const problem = registrationProblem(version, resource);
    this.#logger.info({ resource: shown(resource) }, 'Got registration request from device plugin with resource');
    try {
      if (problem !== undefined) throw new Error(problem);
      this.#checkRoom(resource, endpoint);
      this.#count(resource);
      const socketPath = path.join(directory, endpoint);
      if (path.dirname(socketPath) !== directory) {
        throw new Error(`the endpoint ${JSON.stringify(shown(endpoint))} is no name of a socket in ${directory}`);
      }
      await this.connect(resource, socketPath, signal);
    } catch (err) {
      this.#logger.error(
        { resource: shown(resource), err },
        'Bad registration request from device plugin with resource',
      );
      throw new GrpcError({ code: 'UNKNOWN', details: errorText(err), cause: err });
    }
  }

  /** Connects to a plugin, and follows it from then on. @throws Error in upstream's words */
  async connect(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    this.#checkRoom(resource, socketPath);
    if (socketPath.length > MAX_SHOWN) throw new Error(`no socket has a path as long as ${shown(socketPath)}`);
    const turn = ++this.#turn;
    const plugin = new Plugin(this.#transport.client({ clock: this.#clock }, { socketPath }), resource, socketPath);
    try {
      await plugin.connect(signal);
      this.#checkRoom(resource, socketPath);
    } catch (err) {
      plugin.close();
      throw err;
    }
    const before = this.#plugins.get(resource);
    if (this.#ending.aborted || (before?.turn ?? 0) > turn) {
      plugin.close();
      throw new Error(`another device plugin has registered for ${resource} meanwhile`);
    }
    this.#plugins.set(resource, { plugin, turn });
    before?.plugin.close();
    this.#events.plugged(resource);
    this.#logger.info({ resource, socketPath }, 'Device plugin connected');
    void this.#follow(plugin);
  }

  /** Names that nobody answers for are counted too, but not without end (K4). */
  #count(resource: string): void {
    if (!this.#counted.has(resource) && this.#counted.size >= MAX_RESOURCES) return;
    this.#counted.add(resource);
    this.#events.asked(resource);
  }

  /** Whoever offers names without end keeps the node's status from being written. */
  #checkRoom(resource: string, socketPath: string): void {
    if (this.#known.size < MAX_RESOURCES || this.#known.has(resource)) return;
    const whose = `the device plugin of ${resource} at ${shown(socketPath)}`;
    throw new Error(`${whose} is not taken: device plugins have ${this.#known.size} resources of this node already`);
  }

  /** The plugin of this socket, where it is the one that counts, is to be used no more. */
  disconnect(resource: string, socketPath: string): void {
    const plugin = this.get(resource);
    if (plugin?.socketPath === socketPath) plugin.close();
  }

  /**
   * Each list is all that there is: the newest is taken, whatever was told while nobody could take it. A stream that ends, by an error or
   * not, is not opened again: the plugin has to register anew (`runClient`, `handler.go`).
   */
  async #follow(plugin: Plugin): Promise<void> {
    const { resource } = plugin;
    const newest = new CoalescingQueue<string, SentList>();
    using over = linkAbort(this.#ending);
    const heard = this.#hear(plugin, newest).finally(() => over.abort());
    let reason: string;
    try {
      for await (const [, list] of newest) {
        if (this.get(resource) !== plugin || this.#ending.aborted) return;
        const sent = list.read();
        const { devices, duplicates } = readDevices(sent);
        if (duplicates.length > 0) {
          const fields = { resource, duplicates: duplicates.slice(0, 10).map(shown), count: duplicates.length };
          this.#logger.warn(fields, 'Device plugin names devices more than once: the last of a name counts');
        }
        this.#events.told(resource, devices);
        const pauseMs = Math.max(MIN_PAUSE_MS, (sent.length / DEVICES_PER_SECOND) * 1000);
        await sleep(this.#clock, pauseMs, over.signal).catch(() => {});
      }
      reason = await heard;
    } catch (err) {
      reason = errorText(err);
    }
    plugin.close();
    if (this.get(resource) !== plugin || this.#ending.aborted) return;
    this.#logger.error({ resource, reason }, 'ListAndWatch ended unexpectedly for device plugin');
    this.#events.unplugged(resource);
  }

  /** Hears all that a plugin tells, and keeps the newest for who takes it. @returns why it tells no more */
  async #hear(plugin: Plugin, newest: CoalescingQueue<string, SentList>): Promise<string> {
    let paidMs = Number.NEGATIVE_INFINITY;
    try {
      for await (const list of plugin.lists(this.#ending)) {
        newest.push(plugin.resource, list);
        const costMs = Math.max(1 / LISTS_PER_SECOND, list.bytes / BYTES_PER_SECOND) * 1000;
        const nowMs = this.#clock.monotonic();
        paidMs = Math.max(paidMs, nowMs - HEARD_AT_ONCE_MS) + costMs;
        if (paidMs > nowMs) await sleep(this.#clock, paidMs - nowMs, this.#ending);
      }
      return 'EOF';
    } catch (err) {
      return errorText(err);
    } finally {
      newest.close();
    }
  }
}

/** Why a plugin that registers cannot be taken; `undefined` where it can (`Register`, `server.go`). */
function registrationProblem(version: string, resource: string): string | undefined {
  if (version !== VERSION) {
    return `requested API version ${JSON.stringify(shown(version))} is not supported by kubelet. Supported version is ["${VERSION}"]`;
  }
  return nameProblem(resource);
}

/** The same of a plugin that was found (`ValidatePlugin`, `handler.go`). */
export function foundProblem(versions: readonly string[], resource: string): string | undefined {
  if (!versions.includes(VERSION)) {
    const given = shown(versions.slice(0, MAX_SHOWN).map(shown).join(' '));
    return `manager version, ${VERSION}, is not among plugin supported versions [${given}]`;
  }
  const problem = nameProblem(resource);
  return problem && `invalid name of device plugin socket: ${problem}`;
}

function nameProblem(resource: string): string | undefined {
  return isExtendedResource(resource) ? undefined : `the ResourceName ${JSON.stringify(shown(resource))} is invalid`;
}

/** What a plugin sends may be of megabytes: neither the log nor the plugin, which is told of it, needs all of that. */
function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}...`;
}
