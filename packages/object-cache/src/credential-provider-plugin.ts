import { abortable, type Clock, Semaphore, withTimeout } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import {
  type Counter,
  errorText,
  type Histogram,
  type Metrics,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import type { CredentialProvider } from './credential-provider-config.ts';
import { type CacheKeyType, parseProviderResponse, providerRequest } from './credential-provider-response.ts';
import type { DockerConfig, ObjectCoordinates } from './docker-config.ts';
import { type AccountSource, type PluginAccount, pluginAccount } from './plugin-account.ts';
import type { PluginRunner } from './plugin-runner.ts';
import { registryMatches } from './registry-url.ts';

/** What `CredentialProviderPlugin` works with. */
export interface PluginComponents {
  readonly run: PluginRunner;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  /** Of this process: plugins inherit it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For plugins that are given tokens of service accounts: without it they fail. */
  readonly accounts?: AccountSource;
}

/** What a plugin gave. */
export interface PluginLogins {
  readonly logins: DockerConfig;
  /** The service account that it gave them for; absent where they are the node's. */
  readonly account?: ObjectCoordinates;
}

/** A plugin has a minute, time for it to try again included. */
const TIMEOUT_MS = 60_000;
/**
 * So many images of one pod a plugin is asked for at once: each is a process. Upstream starts a pod's containers one after another, and asks
 * for one at a time; what it is given for a registry is there for the next.
 */
const ASKED_AT_ONCE = 4;
/** So many answers are kept at most: pods may name new images without end, and some answers are good for half a day. */
const MAX_CACHED = 4096;
/** How far apart those that are good no longer are looked for (`cachePurgeInterval`). */
const PURGE_PERIOD_MS = 15 * 60_000;
const NO_LOGINS: DockerConfig = new Map();
const ECHOED_TOKEN =
  "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'";

/** One plugin, and what it gave that is still good. Source: `pkg/credentialprovider/plugin/plugin.go`. */
export class CredentialProviderPlugin {
  readonly #components: WithDefaults<PluginComponents>;
  readonly #provider: CredentialProvider;
  readonly #command: string;
  readonly #cache = new Map<string, { readonly logins: DockerConfig; readonly expiresAtMs: number }>();
  #purgeAtMs = 0;
  /** By image and account: it is asked once for all who want the same at the same time. */
  readonly #running = new Map<string, Promise<DockerConfig>>();
  /** By the UIDs of the pods whose images it is asked for. */
  readonly #turns = new Map<string, Semaphore>();
  readonly #errors: Counter<'plugin_name'>;
  readonly #duration: Histogram<'plugin_name'>;

  constructor(given: PluginComponents, provider: CredentialProvider, binDir: string) {
    const components = withDefaults(given);
    this.#components = components;
    this.#provider = provider;
    this.#command = `${binDir}/${provider.name}`;
    this.#errors = components.metrics.counter({
      name: 'kubelet_credential_provider_plugin_errors_total',
      help: 'Number of errors from credential provider plugin',
      labels: ['plugin_name'],
    });
    this.#duration = components.metrics.histogram({
      name: 'kubelet_credential_provider_plugin_duration',
      help: 'Duration of execution in seconds for credential provider plugin',
      labels: ['plugin_name'],
    });
  }

  get name(): string {
    return this.#provider.name;
  }

  /**
   * Logins for an image by registry; none where the plugin is not for it. Those that were given for a service account are
   * for its pods alone.
   * @param image with its registry and without a tag
   * @throws Error that says what the plugin did wrong; the signal's reason
   */
  async logins(pod: Pod, image: string, signal: AbortSignal): Promise<PluginLogins> {
    if (!this.#provider.matchImages.some((glob) => registryMatches(glob, image))) return { logins: NO_LOGINS };
    const { uid } = pod.metadata;
    const turn = this.#turns.get(uid) ?? new Semaphore(ASKED_AT_ONCE);
    this.#turns.set(uid, turn);
    try {
      return await turn.run(() => this.#loginsFor(pod, image, signal), signal);
    } finally {
      if (turn.active === 0 && turn.waiting === 0) this.#turns.delete(uid);
    }
  }

  async #loginsFor(pod: Pod, image: string, signal: AbortSignal): Promise<PluginLogins> {
    const account = await this.#accountOf(pod, signal);
    if (account === 'skip') return { logins: NO_LOGINS };
    const given = account === 'none' ? undefined : account;
    const forWhom = given && { account: given.coordinates };
    const cached = this.#cached(image, given);
    if (cached !== undefined) return { logins: cached, ...forWhom };
    const key = JSON.stringify([image, given?.runKey]);
    const running = this.#running.get(key) ?? this.#ask(image, given).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return { logins: await abortable(running, signal), ...forWhom };
  }

  async #accountOf(pod: Pod, signal: AbortSignal): Promise<PluginAccount | 'none' | 'skip'> {
    const { tokenAttributes } = this.#provider;
    if (tokenAttributes === undefined) return 'none';
    const { accounts } = this.#components;
    if (accounts === undefined) throw new Error('there is no API server to ask for tokens of service accounts');
    return await pluginAccount(accounts, tokenAttributes, pod, signal);
  }

  #cached(image: string, account: PluginAccount | undefined): DockerConfig | undefined {
    const nowMs = this.#components.clock.monotonic();
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      const entry = this.#cache.get(cacheKey(type, image, account));
      if (entry !== undefined && nowMs <= entry.expiresAtMs) return entry.logins;
    }
    return undefined;
  }

  #keep(key: string, logins: DockerConfig, durationMs: number): void {
    const nowMs = this.#components.clock.monotonic();
    if (nowMs >= this.#purgeAtMs) {
      for (const [known, { expiresAtMs }] of this.#cache) if (nowMs > expiresAtMs) this.#cache.delete(known);
      this.#purgeAtMs = nowMs + PURGE_PERIOD_MS;
    }
    this.#cache.delete(key);
    this.#cache.set(key, { logins, expiresAtMs: nowMs + durationMs });
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= MAX_CACHED) break;
      this.#cache.delete(oldest);
    }
  }

  async #ask(image: string, account: PluginAccount | undefined): Promise<DockerConfig> {
    const { apiVersion, defaultCacheDurationMs, tokenAttributes } = this.#provider;
    const stdout = await this.#run(image, providerRequest(apiVersion, image, account));
    const response = parseProviderResponse(stdout, apiVersion);
    // A token is one pod's: what is kept for the whole account may not be one.
    if (account !== undefined && tokenAttributes?.cacheType !== 'Token') {
      for (const { password } of response.logins.values()) {
        if (password === account.token) throw new Error(ECHOED_TOKEN);
      }
    }
    const durationMs = response.cacheDurationMs ?? defaultCacheDurationMs;
    if (durationMs > 0) {
      this.#keep(cacheKey(response.cacheKeyType, image, account), response.logins, durationMs);
    }
    return response.logins;
  }

  /** @returns what it printed */
  async #run(image: string, stdin: string): Promise<string> {
    const { run, clock, environment } = this.#components;
    const { name, args, env } = this.#provider;
    const own = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
    const request = { command: this.#command, args, environment: { ...environment, ...own }, stdin };
    const startedAtMs = clock.monotonic();
    const failed = (why: string, cause?: unknown): Error => {
      this.#errors.inc({ plugin_name: name });
      return new Error(`error execing credential provider plugin ${name} for image ${image}: ${why}`, { cause });
    };
    try {
      const { exitCode, stdout, stderr } = await withTimeout(clock, TIMEOUT_MS, (signal) => run(request, signal)).catch(
        (cause: unknown) => {
          throw failed(errorText(cause), cause);
        },
      );
      if (exitCode !== 0) throw failed(`exit status ${exitCode}: ${stderr}`);
      return stdout;
    } finally {
      this.#duration.observe({ plugin_name: name }, (clock.monotonic() - startedAtMs) / 1000);
    }
  }
}

function cacheKey(type: CacheKeyType, image: string, account: PluginAccount | undefined): string {
  const registry = image.slice(0, `${image}/`.indexOf('/'));
  const base = type === 'Global' ? '<global>' : type === 'Image' ? image : registry;
  return JSON.stringify([base, account?.cacheKey]);
}
