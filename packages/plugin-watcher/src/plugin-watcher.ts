import { posix } from 'node:path';
import {
  abortable,
  Backoff,
  type Clock,
  checkComponents,
  checkOptions,
  type LinkedAbort,
  linkAbort,
  OptionsError,
  Semaphore,
  StartOnce,
  sleep,
  untilAborted,
} from '@node-agent/async';
import { type GrpcTransport, unixSockets } from '@node-agent/grpc';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { errorText, type Gauge, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { type FoundSockets, findSockets } from './find-sockets.ts';
import { registrationRpcs } from './generated/services.ts';
import { LinkTargets } from './link-targets.ts';
import type { PluginHandler } from './plugin-handler.ts';

/** Dependencies of a {@link PluginWatcher}. */
export interface PluginWatcherComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'lstat' | 'watch'>;
  /** Resolves links to sockets, whose targets may never answer. If absent, links are ignored. */
  readonly foreignFiles?: Pick<ForeignFiles, 'stat'>;
  /** Connects to plugins. Default: unix sockets. */
  readonly transport?: Pick<GrpcTransport, 'client'>;
  /** Gives the directory the SELinux label with which containers may use it. If absent, the label is not changed. */
  readonly labelForContainers?: (directory: string) => Promise<void>;
}

/** Options of a {@link PluginWatcher}. */
export interface PluginWatcherOptions {
  /** Absolute path of the plugin directory: `<root>/plugins_registry`. */
  readonly directory: string;
  /** Handlers by plugin type: `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. Plugins of other types are refused. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** Maximum number of known sockets and of watched directories; further ones wait until one is gone. Default: 4096. */
  readonly maxSockets?: number;
  /** Maximum number of plugins that are queried or registered concurrently. Default: 256. */
  readonly maxAsked?: number;
}

/**
 * Timeouts of dialling (`dialTimeoutDuration`), GetInfo, and notification (`notifyTimeoutDuration` of
 * `operation_generator.go`).
 */
const DIAL_MS = 10_000;
const INFO_MS = 1_000;
const NOTIFY_MS = 5_000;
/** Back-off between two attempts with one socket (`goroutinemap/exponentialbackoff`). */
const BACK_OFF = { initialMs: 500, maxMs: 122_000 };
/** Period of searching the directory without a hint: file system events may be lost or merged. */
const REPAIR_MS = 10_000;
/** Minimum interval between two searches, so that a continuously changing directory does not block the process. */
const MIN_PAUSE_MS = 50;
/** Default of `maxSockets`. A node has a few plugins of each kind, so more sockets are a mistake or an attack. */
const MAX_SOCKETS = 4096;
/**
 * Default of `maxAsked`, because a socket without a server costs 10 s per attempt. Registered plugins, and those in
 * back-off, do not count.
 */
const MAX_ASKED = 256;

/**
 * Maximum lengths of texts in logs and notifications: a plugin's info may have megabytes, and handlers' errors may
 * contain it.
 */
const MAX_SHOWN = 317;
const MAX_WORDS = 1024;

/** States of `plugin_manager_total_plugins`: the socket exists; the plugin is registered. */
const DESIRED = 'desired_state_of_world';
const ACTUAL = 'actual_state_of_world';

interface Known {
  /** Value that changes when the socket at this path is replaced. */
  readonly identity: string;
  readonly stop: LinkedAbort;
}

/**
 * Finds plugins by their sockets below a directory, queries each plugin and registers it with the handler of its type
 * (`pkg/kubelet/pluginmanager`). Sockets are handled independently, so a socket that hangs delays no other (W6).
 */
export class PluginWatcher {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #fs: PluginWatcherComponents['fs'];
  readonly #labelForContainers: PluginWatcherComponents['labelForContainers'];
  readonly #transport: Pick<GrpcTransport, 'client'>;
  readonly #options: Required<PluginWatcherOptions>;
  readonly #links: LinkTargets | undefined;
  readonly #plugins: Gauge<'socket_path' | 'state'>;
  readonly #known = new Map<string, Known>();
  /** Paths of the sockets that are being handled; the sockets of one path are handled one after another. */
  readonly #followed = new Set<string>();
  readonly #watched = new Map<string, LinkedAbort>();
  readonly #asked: Semaphore;
  #hinted: (() => void) | undefined;
  #found: FoundSockets | undefined;
  #isLabelled = false;
  #tooMany = false;
  readonly #startOnce = new StartOnce('PluginWatcher');
  /** Resolves when the directory has been read once. */
  readonly #looked = Promise.withResolvers<void>();

  /** @throws OptionsError naming the invalid component or option */
  constructor(components: PluginWatcherComponents, options: PluginWatcherOptions) {
    const asked = checkOptions('PluginWatcher', options, {
      directory: 'string',
      handlers: 'object',
      maxSockets: 'limit?',
      maxAsked: 'limit?',
    });
    checkComponents('PluginWatcher', components, { fs: ['mkdir', 'readdir', 'watch', 'lstat'] });
    const { directory, maxSockets = MAX_SOCKETS, maxAsked = MAX_ASKED } = options;
    if (!posix.isAbsolute(directory)) {
      const problem = `directory: must be an absolute path, not ${JSON.stringify(directory)}`;
      throw new OptionsError('PluginWatcher', 'directory', problem);
    }
    const { clock, logger, metrics, fs, labelForContainers } = withDefaults({ metrics: undefined, ...components });
    const { foreignFiles, transport = unixSockets } = components;
    const hint = (): void => this.#hinted?.();
    this.#links = foreignFiles && new LinkTargets(foreignFiles, hint, maxSockets);
    this.#plugins = metrics.gauge({
      name: 'plugin_manager_total_plugins',
      help: 'Number of plugins in Plugin Manager',
      labels: ['socket_path', 'state'],
    });
    this.#labelForContainers = labelForContainers;
    this.#clock = clock;
    this.#logger = logger;
    this.#fs = fs;
    this.#transport = transport;
    this.#asked = new Semaphore(maxAsked);
    this.#options = { ...asked, maxSockets, maxAsked, directory: posix.resolve(directory) };
  }

  /**
   * Resolves when the directory exists and has been read: sockets that are created from now on are found.
   * @throws the signal's reason
   */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#looked.promise, signal);
  }

  /** Watches the directory until the signal is aborted; creates it if it does not exist. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    while (!signal.aborted) {
      const { promise: hint, resolve } = Promise.withResolvers<void>();
      this.#hinted = resolve;
      try {
        await this.#fs.mkdir(this.#options.directory, { mode: 0o750 });
        await this.#label();
        await this.#look(signal);
        this.#looked.resolve();
      } catch (err) {
        this.#logger.error({ err }, 'Failed to look for plugins');
      }
      await sleep(this.#clock, MIN_PAUSE_MS, signal).catch(() => {});
      using waiting = linkAbort(signal);
      await Promise.race([hint, sleep(this.#clock, REPAIR_MS, waiting.signal).catch(() => {})]);
      waiting.abort();
    }
    for (const { stop } of this.#known.values()) stop.abort();
  }

  async #label(): Promise<void> {
    if (this.#isLabelled || this.#labelForContainers === undefined) return;
    this.#isLabelled = true;
    const path = this.#options.directory;
    try {
      await this.#labelForContainers(path);
    } catch (err) {
      const message = 'could not set selinux context on plugin registration dir';
      this.#logger.info({ err, path }, `Unprivileged containerized plugins might not work, ${message}`);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const found = await findSockets(this.#fs, this.#options.directory, this.#logger, this.#found);
    this.#found = found;
    const sockets = new Map([...found.sockets, ...(this.#links?.sockets(found.links) ?? [])]);
    for (const [path, { identity, stop }] of [...this.#known]) {
      if (sockets.get(path) === identity) continue;
      this.#known.delete(path);
      this.#count(path, DESIRED, false);
      stop.abort(new Error(`socket ${path} is gone`));
    }
    // Known sockets are kept: no plugin is dropped because others appear.
    for (const [path, identity] of sockets) {
      if (this.#known.has(path)) continue;
      if (this.#known.size >= this.#options.maxSockets) break;
      const stop = linkAbort(signal);
      this.#known.set(path, { identity, stop });
      this.#count(path, DESIRED, true);
      if (!this.#followed.has(path)) void this.#followAll(path, signal);
    }
    this.#tellOfTooMany(sockets.size);
    for (const directory of found.directories) this.#watch(directory, signal);
  }

  #count(socketPath: string, state: string, isThere: boolean): void {
    const labels = { socket_path: socketPath, state };
    if (isThere) this.#plugins.set(labels, 1);
    else this.#plugins.remove?.(labels);
  }

  #tellOfTooMany(found: number): void {
    const { maxSockets } = this.#options;
    const tooMany = found > maxSockets;
    if (tooMany && !this.#tooMany) {
      this.#logger.error({ found, maxSockets }, 'Found more plugin sockets than the limit, the others wait');
    }
    this.#tooMany = tooMany;
  }

  #watch(directory: string, signal: AbortSignal): void {
    // Directories without a watch are covered by the next search.
    if (this.#watched.has(directory) || this.#watched.size >= this.#options.maxSockets) return;
    const stop = linkAbort(signal);
    this.#watched.set(directory, stop);
    const hint = (): void => this.#hinted?.();
    // If the directory was replaced, the next search starts another watch.
    const watching = this.#fs.watch(directory, hint, stop.signal).catch(() => {});
    void watching.finally(() => {
      stop[Symbol.dispose]();
      this.#watched.delete(directory);
    });
  }

  /**
   * Handles the sockets of a path one after another, so that a slow deregistration of one socket does not affect the
   * next.
   */
  async #followAll(path: string, ending: AbortSignal): Promise<void> {
    this.#followed.add(path);
    for (let next = this.#known.get(path); next !== undefined && !ending.aborted; next = this.#known.get(path)) {
      await this.#follow(path, next.stop.signal, ending);
    }
    this.#followed.delete(path);
  }

  /**
   * Registers the plugin of a socket, retrying until that has succeeded, and deregisters it when the socket is gone.
   */
  async #follow(path: string, gone: AbortSignal, ending: AbortSignal): Promise<void> {
    const backOff = new Backoff({ clock: this.#clock }, BACK_OFF);
    while (!gone.aborted) {
      try {
        const { handler, name, endpoint } = await this.#asked.run(() => this.#register(path, gone, ending), gone);
        this.#logger.info({ socketPath: path, name: shown(name) }, 'Plugin is registered');
        this.#count(path, ACTUAL, true);
        await untilAborted(gone);
        this.#count(path, ACTUAL, false);
        // When the kubelet stops, plugins are left registered.
        if (!ending.aborted) handler.deregister(name, endpoint);
        return;
      } catch (err) {
        if (gone.aborted) return;
        this.#logger.error({ reason: errorText(err) }, 'Failed to register a plugin');
        backOff.next(path, this.#clock.now());
        await sleep(this.#clock, backOff.delayMs(path), gone).catch(() => {});
      }
    }
  }

  /**
   * Queries and registers a plugin and notifies it. @throws Error in upstream's wording, after the plugin was notified
   */
  async #register(
    socketPath: string,
    signal: AbortSignal,
    ending: AbortSignal,
  ): Promise<{ readonly handler: PluginHandler; readonly name: string; readonly endpoint: string }> {
    const at = `at socket ${socketPath}`;
    const words = (text: string): string => `RegisterPlugin error -- ${shown(text, MAX_WORDS)}`;
    const fail = (text: string, cause?: unknown): Error => new Error(words(text), { cause });
    const client = this.#transport.client({ clock: this.#clock }, { socketPath });
    const notify = async (error: string): Promise<void> => {
      const status = { pluginRegistered: error === '', error };
      await client.unary(registrationRpcs.notifyRegistrationStatus, status, { timeoutMs: NOTIFY_MS, signal });
    };
    const refuse = async (text: string): Promise<never> => {
      await notify(words(text)).catch((err: unknown) => {
        throw fail(`failed to send error ${at}, err: ${errorText(err)}`, err);
      });
      throw fail(text);
    };
    try {
      await client.connect(DIAL_MS, signal).catch((err: unknown) => {
        throw fail(`dial failed ${at}, err: ${errorText(err)}`, err);
      });
      const info = await client
        .unary(registrationRpcs.getInfo, {}, { timeoutMs: INFO_MS, signal })
        .catch((err: unknown) => {
          throw fail(`failed to get plugin info using RPC GetInfo ${at}, err: ${errorText(err)}`, err);
        });
      const { type, name, supportedVersions } = info;
      const endpoint = info.endpoint || socketPath;
      const handler = this.#options.handlers.get(type);
      if (handler === undefined) return await refuse(`no handler registered for plugin type: ${shown(type)} ${at}`);
      const problem = handler.validate(name, endpoint, supportedVersions);
      if (problem !== undefined) return await refuse(`plugin validation failed with err: ${problem}`);
      try {
        await handler.register(name, endpoint, supportedVersions, signal);
      } catch (err) {
        return await refuse(`plugin registration failed with err: ${errorText(err)}`);
      }
      try {
        await notify('');
      } catch (err) {
        if (!ending.aborted) handler.deregister(name, endpoint);
        throw fail(`failed to send registration status ${at}, err: ${errorText(err)}`, err);
      }
      return { handler, name, endpoint };
    } finally {
      client.close();
    }
  }
}

function shown(text: string, maxLength: number = MAX_SHOWN): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}...`;
}
