import path from 'node:path';
import { type Clock, CoalescingQueue, linkAbort, sleep } from '@node-agent/async';
import { GrpcError, type GrpcTransport } from '@node-agent/grpc';
import { isExtendedResource } from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import { type Device, readDevices } from './device.ts';
import type { RegisterRequest } from './generated/types.ts';
import { MAX_RESOURCES } from './inventory.ts';
import { Plugin, type SentList } from './plugin.ts';

/** Supported API version (`SupportedVersions`). */
const VERSION = 'v1beta1';
/** Maximum length of texts in logs and errors; no resource name is longer. */
const MAX_SHOWN = 317;
/**
 * Minimum interval between two processed lists of one plugin, and maximum number of devices processed per second, so
 * that a plugin that sends lists continuously does not block the process.
 */
const MIN_PAUSE_MS = 100;
const DEVICES_PER_SECOND = 100_000;
/** Rate limits for receiving from a plugin: lists and bytes per second, with a burst of 100 ms. */
const LISTS_PER_SECOND = 1_000;
const BYTES_PER_SECOND = 32 * 1024 * 1024;
const HEARD_AT_ONCE_MS = 100;

/** Events of plugins. */
interface PluginEvents {
  /** Called when a plugin requests to register for the resource. */
  asked(resource: string): void;
  /**
   * Called when the plugin can allocate devices. If the plugin replaces another one, the devices of the other plugin
   * stay known until the new plugin reports its own.
   */
  plugged(resource: string): void;
  told(resource: string, devices: ReadonlyMap<string, Device>): void;
  /** Called when the plugin has disconnected and no other plugin replaces it. */
  unplugged(resource: string): void;
  /** Called when the resource was removed. */
  forgotten(resource: string): void;
}

/** Dependencies of {@link Plugins}. */
interface PluginsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly transport: GrpcTransport;
  /** The known resources of the node. */
  readonly known: { readonly size: number; has(resource: string): boolean };
}

/**
 * The registered plugins, one per resource (`plugin/v1beta1`). A plugin that registers for a resource replaces its
 * predecessor after it has answered; a plugin that does not answer does not replace its predecessor.
 */
export class Plugins {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #transport: GrpcTransport;
  readonly #known: PluginsParts['known'];
  readonly #events: PluginEvents;
  readonly #plugins = new Map<string, { readonly plugin: Plugin; readonly turn: number }>();
  readonly #counted = new Set<string>();
  /**
   * Number of registrations so far. Of two registrations for one resource, the later one wins, whichever plugin answers
   * first.
   */
  #turn = 0;
  #ending: AbortSignal = new AbortController().signal;

  constructor({ clock, logger, transport, known }: PluginsParts, events: PluginEvents) {
    this.#clock = clock;
    this.#logger = logger;
    this.#transport = transport;
    this.#known = known;
    this.#events = events;
  }

  /** Returns the plugin of a resource; a plugin that is gone rejects all calls. */
  get(resource: string): Plugin | undefined {
    return this.#plugins.get(resource)?.plugin;
  }

  forget(resource: string): void {
    this.get(resource)?.close();
    this.#plugins.delete(resource);
    this.#counted.delete(resource);
    this.#events.forgotten(resource);
  }

  /** Sets the signal whose abort ends the connections to all plugins. */
  begin(ending: AbortSignal): void {
    this.#ending = ending;
    const closeAll = (): void => {
      for (const { plugin } of this.#plugins.values()) plugin.close();
    };
    ending.addEventListener('abort', closeAll, { once: true });
  }

  /**
   * Handles a registration (`Register`, `server.go`), with upstream's messages.
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
      if (!socketPath.startsWith(`${directory}/`)) {
        throw new Error(`endpoint ${JSON.stringify(shown(endpoint))} must be the path of a socket below ${directory}`);
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

  /** Connects to a plugin and starts to process its device lists. @throws Error in upstream's wording */
  async connect(resource: string, socketPath: string, signal: AbortSignal): Promise<void> {
    this.#checkRoom(resource, socketPath);
    if (socketPath.length > MAX_SHOWN) throw new Error(`socket path is too long: ${shown(socketPath)}`);
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
    const isOutdated = (before?.turn ?? 0) > turn;
    if (this.#ending.aborted || isOutdated) {
      plugin.close();
      if (isOutdated) throw new Error(`another device plugin has registered for ${resource} in the meantime`);
      throw new Error(`the device plugin of ${resource} was not connected: the kubelet is stopping`);
    }
    this.#plugins.set(resource, { plugin, turn });
    before?.plugin.close();
    this.#events.plugged(resource);
    this.#logger.info({ resource, socketPath }, 'Device plugin connected');
    void this.#follow(plugin);
  }

  /**
   * Reports a registration for the metric, even if the plugin never connects. The number of counted resources is
   * limited (K4).
   */
  #count(resource: string): void {
    if (!this.#counted.has(resource) && this.#counted.size >= MAX_RESOURCES) return;
    this.#counted.add(resource);
    this.#events.asked(resource);
  }

  /**
   * Rejects a plugin of a new resource if the node already has the maximum number of resources: with more, the node's
   * status would be too large to write.
   */
  #checkRoom(resource: string, socketPath: string): void {
    if (this.#known.size < MAX_RESOURCES || this.#known.has(resource)) return;
    const whose = `the device plugin of ${resource} at ${shown(socketPath)}`;
    throw new Error(`${whose} was rejected: device plugins already have ${this.#known.size} resources of this node`);
  }

  /** Closes the current plugin of a resource if it has this socket. */
  disconnect(resource: string, socketPath: string): void {
    const plugin = this.get(resource);
    if (plugin?.socketPath === socketPath) plugin.close();
  }

  /**
   * Processes the device lists of a plugin until its stream ends. Each list is complete, so only the newest is
   * processed. A stream that ends, with or without an error, is not reopened: the plugin must register again
   * (`runClient`, `handler.go`).
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
          this.#logger.warn(fields, 'Device plugin reported duplicate device IDs, using the last of each');
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

  /** Receives lists and keeps the newest for processing. @returns why the stream has ended */
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

/** Returns why a registration is rejected; `undefined` if it is accepted (`Register`, `server.go`). */
function registrationProblem(version: string, resource: string): string | undefined {
  if (version !== VERSION) {
    return `requested API version ${JSON.stringify(shown(version))} is not supported by kubelet. Supported version is ["${VERSION}"]`;
  }
  return nameProblem(resource);
}

/**
 * Returns why a plugin that was found by its socket is rejected; `undefined` if it is accepted (`ValidatePlugin`,
 * `handler.go`).
 */
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

/** Truncates a plugin's text, which may have megabytes, for logs and errors. */
function shown(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}...`;
}
