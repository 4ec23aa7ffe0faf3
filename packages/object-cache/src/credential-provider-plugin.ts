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

/** The components of `CredentialProviderPlugin`. */
export interface PluginComponents {
  readonly run: PluginRunner;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  /** The environment of this process, which plugins inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Supplies service accounts and tokens. Without it, plugins that need tokens fail. */
  readonly accounts?: AccountSource;
}

/** The result of a plugin. */
export interface PluginLogins {
  readonly logins: DockerConfig;
  /** The service account for which the logins are valid. If absent, the logins are valid for all pods of the node. */
  readonly account?: ObjectCoordinates;
}

/** The timeout of a plugin, in milliseconds. The timeout leaves time for retries inside the plugin. */
const TIMEOUT_MS = 60_000;
/**
 * The maximum number of concurrent runs of a plugin per pod, each of which is a process. Upstream starts a pod's
 * containers one after another, so it runs the plugin for one container at a time, and a cached response then serves
 * the next container.
 */
const ASKED_AT_ONCE = 4;
/**
 * The maximum number of cached responses: pods may name ever new images, and some responses are valid for half a day.
 */
const MAX_CACHED = 4096;
/** Interval at which expired responses are removed (`cachePurgeInterval`), in milliseconds. */
const PURGE_PERIOD_MS = 15 * 60_000;
const NO_LOGINS: DockerConfig = new Map();
const ECHOED_TOKEN =
  "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'";

/** One plugin with its cached responses. Source: `pkg/credentialprovider/plugin/plugin.go`. */
export class CredentialProviderPlugin {
  readonly #components: WithDefaults<PluginComponents>;
  readonly #provider: CredentialProvider;
  readonly #command: string;
  readonly #cache = new Map<string, { readonly logins: DockerConfig; readonly expiresAtMs: number }>();
  #purgeAtMs = 0;
  /** Runs in progress by image and account. Concurrent callers for the same image and account share a run. */
  readonly #running = new Map<string, Promise<DockerConfig>>();
  /** Limits of concurrent runs by pod UID. */
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
   * Returns the logins for an image by registry; empty if the plugin does not apply to the image. Logins that were
   * obtained for a service account may only be used for the pods of that account.
   * @param image with its registry and without a tag
   * @throws Error describing the plugin's failure; the signal's reason
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
    if (accounts === undefined) throw new Error('service account tokens need an API server, and the node has none');
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
    // A token belongs to one pod, so a result that is cached for the whole account must not contain it.
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

  /** @returns the plugin's stdout */
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
