import { KubeError } from './errors.ts';

/**
 * An `auth-provider` of a kubeconfig, left to @kubernetes/client-node, which is loaded when the first header is needed:
 * it costs 90 MB of memory, and is had by nobody who has a certificate, a token or an exec plugin.
 */
export class AuthProvider {
  readonly #user: { readonly name: string; readonly authProvider: object };
  readonly #name: string;
  #apply: ((options: { headers?: Record<string, unknown> }) => Promise<void>) | undefined;

  constructor(provider: { readonly name: string; readonly config: Readonly<Record<string, unknown>> }) {
    this.#name = provider.name;
    // The library keeps the tokens that it refreshes in the object that it is given.
    this.#user = { name: 'user', authProvider: { name: provider.name, config: { ...provider.config } } };
  }

  /** The header `Authorization`. @throws KubeError `CredentialsUnavailable` */
  async authorization(): Promise<string> {
    const options: { headers?: Record<string, unknown> } = {};
    try {
      this.#apply ??= await this.#load();
      await this.#apply(options);
    } catch (cause) {
      const said = cause instanceof Error ? cause.message : String(cause);
      throw new KubeError({ code: 'CredentialsUnavailable', message: `auth provider ${this.#name}: ${said}`, cause });
    }
    const header = options.headers?.Authorization;
    if (typeof header === 'string' && header !== '') return header;
    throw new KubeError({
      code: 'CredentialsUnavailable',
      message: `auth provider ${this.#name}: it is not known, or gave no token`,
    });
  }

  async #load(): Promise<(options: { headers?: Record<string, unknown> }) => Promise<void>> {
    const { KubeConfig } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    // The address is of no importance: only the header is wanted.
    config.loadFromClusterAndUser({ name: 'cluster', server: 'https://localhost', skipTLSVerify: false }, this.#user);
    return async (options) =>
      await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0]);
  }
}
