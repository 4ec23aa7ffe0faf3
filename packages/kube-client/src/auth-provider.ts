import type { OutgoingHttpHeaders } from 'node:http';
import { KubeError } from './errors.ts';

/** The part of @kubernetes/client-node that {@link AuthProvider} uses. */
interface ClientNode {
  readonly KubeConfig: new () => {
    loadFromClusterAndUser(
      cluster: { name: string; server: string; skipTLSVerify: boolean },
      user: { name: string; authProvider: object },
    ): void;
    applyToHTTPSOptions(options: HeaderOptions): Promise<void>;
  };
}

interface HeaderOptions {
  headers?: OutgoingHttpHeaders;
}

/** Imports the optional peer dependency. Its rejection is handled here, so that bundlers accept a missing package. */
function importOptionalPeer(): Promise<ClientNode> {
  return import('@kubernetes/client-node').catch((error: unknown) => {
    throw error;
  });
}

/**
 * Runs an `auth-provider` of a kubeconfig through @kubernetes/client-node, an optional peer dependency. The library
 * costs 90 MB of memory, so it is loaded when the first header is needed, and only for users without a certificate,
 * token or exec plugin.
 */
export class AuthProvider {
  readonly #user: { readonly name: string; readonly authProvider: object };
  readonly #name: string;
  readonly #import: () => Promise<ClientNode>;
  #apply: ((options: HeaderOptions) => Promise<void>) | undefined;

  constructor(
    provider: { readonly name: string; readonly config: Readonly<Record<string, unknown>> },
    importClientNode: () => Promise<ClientNode> = importOptionalPeer,
  ) {
    this.#name = provider.name;
    this.#import = importClientNode;
    // The library stores refreshed tokens in the object that is passed to it.
    this.#user = { name: 'user', authProvider: { name: provider.name, config: { ...provider.config } } };
  }

  /** Returns the value of the header `Authorization`. @throws KubeError `CredentialsUnavailable` */
  async authorization(): Promise<string> {
    const options: HeaderOptions = {};
    try {
      this.#apply ??= await this.#load();
      await this.#apply(options);
    } catch (cause) {
      throw this.#unavailable(
        isMissing(cause) ? MISSING : cause instanceof Error ? cause.message : String(cause),
        cause,
      );
    }
    const header = options.headers?.Authorization;
    if (typeof header === 'string' && header !== '') return header;
    throw this.#unavailable('the provider is unknown or returned no token');
  }

  async #load(): Promise<(options: HeaderOptions) => Promise<void>> {
    const { KubeConfig } = await this.#import();
    const config = new KubeConfig();
    // Any server address is accepted here: of the resulting request options, only the header is used.
    config.loadFromClusterAndUser({ name: 'cluster', server: 'https://localhost', skipTLSVerify: false }, this.#user);
    return async (options) => await config.applyToHTTPSOptions(options);
  }

  #unavailable(problem: string, cause?: unknown): KubeError {
    const message = `auth provider ${this.#name}: ${problem}`;
    return new KubeError({ code: 'CredentialsUnavailable', message, cause });
  }
}

const MISSING =
  'the provider needs @kubernetes/client-node, which is not installed: `npm install @kubernetes/client-node` beside this package';

/**
 * Reports whether `cause` means that @kubernetes/client-node itself is not installed. If one of its own dependencies is
 * missing, Node.js' message is reported instead.
 */
function isMissing(cause: unknown): boolean {
  if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ERR_MODULE_NOT_FOUND') return false;
  return cause.message.includes("'@kubernetes/client-node'");
}
