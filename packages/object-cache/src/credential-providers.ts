import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { CredentialProviderPlugin, type PluginComponents, type PluginLogins } from './credential-provider-plugin.ts';
import type { RegistryLogin } from './docker-config.ts';
import { Keyring } from './keyring.ts';
import { loginsWithSource } from './login-source.ts';
import type { NodeCredentials } from './pull-secrets.ts';
import type { CredentialProvidersConfig } from './read-credential-providers.ts';

/** The components of {@link CredentialProviders}. */
export interface CredentialProvidersComponents extends Omit<PluginComponents, 'clock' | 'metrics'> {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/**
 * The node's credential provider plugins (KEP-2133), each run for the images to which it applies. If a plugin fails,
 * the failure is logged and the pull continues without its credentials.
 */
export class CredentialProviders implements NodeCredentials {
  readonly #logger: Logger;
  readonly #plugins: readonly CredentialProviderPlugin[];

  constructor(given: CredentialProvidersComponents, options: CredentialProvidersConfig) {
    checkOptions('CredentialProviders', options, { providers: 'list', binDir: 'string', hash: 'string' });
    checkComponents('CredentialProviders', given, { run: 'function', environment: [] });
    const { providers, binDir, hash } = options;
    const components = withDefaults(given);
    this.#logger = components.logger;
    this.#plugins = providers.map((provider) => new CredentialProviderPlugin(components, provider, binDir));
    const info = components.metrics.gauge({
      name: 'kubelet_credential_provider_config_info',
      help: 'Information about the last applied credential provider configuration with hash as label',
      labels: ['hash'],
    });
    info.set({ hash }, 1);
  }

  /** Returns the logins for an image, those of the most specific registries first. @throws the signal's reason */
  async lookup(pod: Pod, repository: string, signal: AbortSignal): Promise<readonly RegistryLogin[]> {
    const keyring = new Keyring();
    const ask = async (plugin: CredentialProviderPlugin): Promise<PluginLogins> => {
      try {
        return await plugin.logins(pod, repository, signal);
      } catch (error) {
        signal.throwIfAborted();
        const fields = { err: error, provider: plugin.name, image: repository };
        this.#logger.error(fields, 'Failed to provide credentials for image');
        return { logins: new Map() };
      }
    };
    // Plugins run concurrently, so that several hanging plugins take one timeout in all.
    for (const { logins, account } of await Promise.all(this.#plugins.map(ask))) {
      keyring.add(loginsWithSource(logins, () => account && { serviceAccount: account }));
    }
    return keyring.lookup(repository);
  }
}
