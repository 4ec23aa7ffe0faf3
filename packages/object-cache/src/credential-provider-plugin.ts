import { abortable, type Clock, withTimeout } from '@node-agent/async';
import { type Counter, errorText, type Histogram, type Metrics } from '@node-agent/telemetry';
import type { CredentialProvider } from './credential-provider-config.ts';
import { type CacheKeyType, parseProviderResponse, providerRequest } from './credential-provider-response.ts';
import type { DockerConfig } from './docker-config.ts';
import type { PluginRunner } from './plugin-runner.ts';
import { registryMatches } from './registry-url.ts';

/** What {@link CredentialProviderPlugin} works with. */
export interface PluginComponents {
  readonly run: PluginRunner;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Of this process: plugins inherit it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A plugin has a minute, time for it to try again included. */
const TIMEOUT_MS = 60_000;
const NO_LOGINS: DockerConfig = new Map();

/** One plugin, and what it gave that is still good. Source: `pkg/credentialprovider/plugin/plugin.go`. */
export class CredentialProviderPlugin {
  readonly #components: PluginComponents;
  readonly #provider: CredentialProvider;
  readonly #command: string;
  readonly #cache = new Map<string, { readonly logins: DockerConfig; readonly expiresAtMs: number }>();
  /** By image: it is asked once for all who want the same at the same time. */
  readonly #running = new Map<string, Promise<DockerConfig>>();
  readonly #errors: Counter<'plugin_name'>;
  readonly #duration: Histogram<'plugin_name'>;

  constructor(components: PluginComponents, provider: CredentialProvider, binDir: string) {
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
   * Logins for an image by registry; none where the plugin is not for it.
   * @param image with its registry and without a tag
   * @throws Error that says what the plugin did wrong; the signal's reason
   */
  async logins(image: string, signal: AbortSignal): Promise<DockerConfig> {
    if (!this.#provider.matchImages.some((glob) => registryMatches(glob, image))) return NO_LOGINS;
    const cached = this.#cached(image);
    if (cached !== undefined) return cached;
    const running = this.#running.get(image) ?? this.#ask(image).finally(() => this.#running.delete(image));
    this.#running.set(image, running);
    return await abortable(running, signal);
  }

  #cached(image: string): DockerConfig | undefined {
    const nowMs = this.#components.clock.monotonic();
    for (const [key, { expiresAtMs }] of this.#cache) if (nowMs > expiresAtMs) this.#cache.delete(key);
    for (const type of ['Image', 'Registry', 'Global'] as const) {
      const entry = this.#cache.get(cacheKey(type, image));
      if (entry !== undefined) return entry.logins;
    }
    return undefined;
  }

  async #ask(image: string): Promise<DockerConfig> {
    const { apiVersion, defaultCacheDurationMs } = this.#provider;
    const stdout = await this.#run(image, providerRequest(apiVersion, image));
    const response = parseProviderResponse(stdout, apiVersion);
    const durationMs = response.cacheDurationMs ?? defaultCacheDurationMs;
    if (durationMs > 0) {
      const expiresAtMs = this.#components.clock.monotonic() + durationMs;
      this.#cache.set(cacheKey(response.cacheKeyType, image), { logins: response.logins, expiresAtMs });
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

function cacheKey(type: CacheKeyType, image: string): string {
  if (type === 'Global') return '<global>';
  return type === 'Image' ? image : image.slice(0, `${image}/`.indexOf('/'));
}
