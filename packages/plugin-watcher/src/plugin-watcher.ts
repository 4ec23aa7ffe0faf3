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
import { GrpcClient } from '@node-agent/grpc';
import type { FileSystem, ForeignFiles } from '@node-agent/host';
import { errorText, type Gauge, type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { type FoundSockets, findSockets } from './find-sockets.ts';
import { registrationRpcs } from './generated/services.ts';
import { LinkTargets } from './link-targets.ts';
import type { PluginHandler } from './plugin-handler.ts';

/** What a {@link PluginWatcher} works with. */
export interface PluginWatcherComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'lstat' | 'watch'>;
  /** By this links to sockets are followed, as where one leads may not answer. Links are passed over where absent. */
  readonly foreignFiles?: Pick<ForeignFiles, 'stat'>;
  /** Gives the directory the label by which containers may use it, on a node with SELinux. It keeps its own where absent. */
  readonly labelForContainers?: (directory: string) => Promise<void>;
}

/** Where plugins are, and who uses them. */
export interface PluginWatcherOptions {
  /** `<root>/plugins_registry`. An absolute path. */
  readonly directory: string;
  /** By the type of the plugins: `CSIPlugin`, `DevicePlugin`, `DRAPlugin`. Those of other types are told that nobody uses them. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** How many sockets are known at once, and how many directories are watched; what is beyond waits until one goes. Default: 4096. */
  readonly maxSockets?: number;
  /** How many are asked, or being registered, at once. Default: 256. */
  readonly maxAsked?: number;
}

/** `dialTimeoutDuration`, the deadline of GetInfo, and `notifyTimeoutDuration` of `operation_generator.go`. */
const DIAL_MS = 10_000;
const INFO_MS = 1_000;
const NOTIFY_MS = 5_000;
/** Between two attempts with one socket (`goroutinemap/exponentialbackoff`). */
const BACK_OFF = { initialMs: 500, maxMs: 122_000 };
/** Hints of the file system may be merged: it looks for itself too. */
const REPAIR_MS = 10_000;
/** How far apart two looks are: a directory in which things come and go without end holds up nobody. */
const MIN_PAUSE_MS = 50;
/** A node has some plugins of each kind: more than this is a mistake, or an attack. */
const MAX_SOCKETS = 4096;
/** One that nobody serves is tried for 10 s each time. Those that are registered, or wait to be tried again, take nothing. */
const MAX_ASKED = 256;

/**
 * What a plugin says of itself may be of megabytes: neither the log nor the plugin, which is told of it, needs all of that. A handler's words,
 * and those of an error, may have it in them.
 */
const MAX_SHOWN = 317;
const MAX_WORDS = 1024;

/** The states of `plugin_manager_total_plugins`: the socket is there; its plugin is registered. */
const DESIRED = 'desired_state_of_world';
const ACTUAL = 'actual_state_of_world';

interface Known {
  /** Which socket of this path. */
  readonly identity: string;
  readonly stop: LinkedAbort;
}

/**
 * Finds plugins by their sockets below a directory, asks each what it is, and hands it to the handler of its type
 * (`pkg/kubelet/pluginmanager`). Each socket is dealt with by itself: one that hangs holds up no other (W6).
 */
export class PluginWatcher {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #fs: PluginWatcherComponents['fs'];
  readonly #labelForContainers: PluginWatcherComponents['labelForContainers'];
  readonly #options: Required<PluginWatcherOptions>;
  readonly #links: LinkTargets | undefined;
  readonly #plugins: Gauge<'socket_path' | 'state'>;
  readonly #known = new Map<string, Known>();
  /** The paths of which somebody takes care: of one socket after another. */
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

  /** @throws OptionsError naming the component or option that is wrong */
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
      const problem = `directory: want an absolute path, got ${JSON.stringify(directory)}`;
      throw new OptionsError('PluginWatcher', 'directory', problem);
    }
    const { clock, logger, metrics, fs, labelForContainers } = withDefaults({ metrics: undefined, ...components });
    const { foreignFiles } = components;
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
    this.#asked = new Semaphore(maxAsked);
    this.#options = { ...asked, maxSockets, maxAsked, directory: posix.resolve(directory) };
  }

  /**
   * Resolves once the directory exists and has been read: sockets that are made from now on are found.
   * @throws the signal's reason
   */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#looked.promise, signal);
  }

  /** Follows the directory, which is made where it is not there, until the signal is aborted. */
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
        this.#logger.error({ err }, 'Could not look for plugins');
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
      stop.abort(new Error(`the socket ${path} is gone`));
    }
    // Those that were there first stay: nobody's plugin goes because others come.
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
      this.#logger.error(
        { found, maxSockets },
        'There are more sockets of plugins than are known at once: the others wait',
      );
    }
    this.#tooMany = tooMany;
  }

  #watch(directory: string, signal: AbortSignal): void {
    // What is not watched is found by the next look.
    if (this.#watched.has(directory) || this.#watched.size >= this.#options.maxSockets) return;
    const stop = linkAbort(signal);
    this.#watched.set(directory, stop);
    const hint = (): void => this.#hinted?.();
    // It begins anew with the next look where the directory was replaced.
    const watching = this.#fs.watch(directory, hint, stop.signal).catch(() => {});
    void watching.finally(() => {
      stop[Symbol.dispose]();
      this.#watched.delete(directory);
    });
  }

  /** One socket of a path after another: a handler that is slow to let go of one does not take the next one back. */
  async #followAll(path: string, ending: AbortSignal): Promise<void> {
    this.#followed.add(path);
    for (let next = this.#known.get(path); next !== undefined && !ending.aborted; next = this.#known.get(path)) {
      await this.#follow(path, next.stop.signal, ending);
    }
    this.#followed.delete(path);
  }

  /** Registers the plugin of a socket, again and again until that has succeeded, and takes it back when the socket is gone. */
  async #follow(path: string, gone: AbortSignal, ending: AbortSignal): Promise<void> {
    const backOff = new Backoff({ clock: this.#clock }, BACK_OFF);
    while (!gone.aborted) {
      try {
        const { handler, name, endpoint } = await this.#asked.run(() => this.#register(path, gone, ending), gone);
        this.#logger.info({ socketPath: path, name: shown(name) }, 'Plugin is registered');
        this.#count(path, ACTUAL, true);
        await untilAborted(gone);
        this.#count(path, ACTUAL, false);
        // A kubelet that ends leaves its plugins as they are.
        if (!ending.aborted) handler.deregister(name, endpoint);
        return;
      } catch (err) {
        if (gone.aborted) return;
        this.#logger.error({ reason: errorText(err) }, 'Registration of a plugin failed');
        backOff.next(path, this.#clock.now());
        await sleep(this.#clock, backOff.delayMs(path), gone).catch(() => {});
      }
    }
  }

  /** @throws Error in upstream's words, once the plugin was told */
  async #register(
    socketPath: string,
    signal: AbortSignal,
    ending: AbortSignal,
  ): Promise<{ readonly handler: PluginHandler; readonly name: string; readonly endpoint: string }> {
    const at = `at socket ${socketPath}`;
    const words = (text: string): string => `RegisterPlugin error -- ${shown(text, MAX_WORDS)}`;
    const fail = (text: string, cause?: unknown): Error => new Error(words(text), { cause });
    const client = new GrpcClient({ clock: this.#clock }, { socketPath });
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
