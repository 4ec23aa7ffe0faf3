import type { OutgoingHttpHeaders } from 'node:http';
import { KubeError } from './errors.ts';

/** What is used of @kubernetes/client-node. */
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

/**
 * An `auth-provider` of a kubeconfig, left to @kubernetes/client-node, which is loaded when the first header is needed:
 * it costs 90 MB of memory, and is had by nobody who has a certificate, a token or an exec plugin. It is an optional peer.
 */
export class AuthProvider {
  readonly #user: { readonly name: string; readonly authProvider: object };
  readonly #name: string;
  readonly #import: () => Promise<ClientNode>;
  #apply: ((options: HeaderOptions) => Promise<void>) | undefined;

  constructor(
    provider: { readonly name: string; readonly config: Readonly<Record<string, unknown>> },
    importClientNode: () => Promise<ClientNode> = async () => await import('@kubernetes/client-node'),
  ) {
    this.#name = provider.name;
    this.#import = importClientNode;
    // The library keeps the tokens that it refreshes in the object that it is given.
    this.#user = { name: 'user', authProvider: { name: provider.name, config: { ...provider.config } } };
  }

  /** The header `Authorization`. @throws KubeError `CredentialsUnavailable` */
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
    throw this.#unavailable('it is not known, or gave no token');
  }

  async #load(): Promise<(options: HeaderOptions) => Promise<void>> {
    const { KubeConfig } = await this.#import();
    const config = new KubeConfig();
    // The address is of no importance: only the header is wanted.
    config.loadFromClusterAndUser({ name: 'cluster', server: 'https://localhost', skipTLSVerify: false }, this.#user);
    return async (options) => await config.applyToHTTPSOptions(options);
  }

  #unavailable(problem: string, cause?: unknown): KubeError {
    const message = `auth provider ${this.#name}: ${problem}`;
    return new KubeError({ code: 'CredentialsUnavailable', message, cause });
  }
}

const MISSING =
  'it is one of @kubernetes/client-node, which is not installed: `npm install @kubernetes/client-node` beside this package';

/** The library itself is not there; what is missing of its own dependencies is told in Node's words. */
function isMissing(cause: unknown): boolean {
  if (!(cause instanceof Error) || !('code' in cause) || cause.code !== 'ERR_MODULE_NOT_FOUND') return false;
  return cause.message.includes("'@kubernetes/client-node'");
}
