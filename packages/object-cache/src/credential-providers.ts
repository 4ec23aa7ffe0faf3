import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import type { Pod } from '@node-agent/pod-spec';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import { CredentialProviderPlugin, type PluginComponents, type PluginLogins } from './credential-provider-plugin.ts';
import type { RegistryLogin } from './docker-config.ts';
import { Keyring } from './keyring.ts';
import { loginsWithSource } from './login-source.ts';
import type { NodeCredentials } from './pull-secrets.ts';
import type { CredentialProvidersConfig } from './read-credential-providers.ts';

/** What {@link CredentialProviders} works with. */
export interface CredentialProvidersComponents extends Omit<PluginComponents, 'clock' | 'metrics'> {
  /** The machine's own where absent. */
  readonly clock?: Clock;
  /** Counted nowhere where absent. */
  readonly metrics?: Metrics;
  /** Silent where absent. */
  readonly logger?: Logger;
}

/**
 * The node's credential provider plugins (KEP-2133), each asked for the images that it is for. One that fails is logged, and
 * the pull goes on without what it might have given.
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

  /** The logins for an image, those of the most specific registries first. @throws the signal's reason */
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
    // Side by side, so that one that hangs takes its minute and not a minute of each.
    for (const { logins, account } of await Promise.all(this.#plugins.map(ask))) {
      keyring.add(loginsWithSource(logins, () => account && { serviceAccount: account }));
    }
    return keyring.lookup(repository);
  }
}
