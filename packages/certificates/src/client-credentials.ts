import { checkComponents } from '@node-agent/async';
import type { CredentialSource, Credentials, TlsMaterial } from '@node-agent/kube-client';
import type { CertificateManager } from './certificate-manager.ts';
import type { CertificatePair } from './certificate-pair.ts';

/** The components of {@link ClientCertificateCredentials}. */
export interface ClientCredentialComponents {
  /** Source of the API server's CA: `ConfiguredCredentials` of the cluster without a user. */
  readonly cluster: CredentialSource;
  readonly certificate: Pick<CertificateManager, 'current' | 'ready' | 'reject'>;
}

/**
 * Credentials of a node: its current client certificate. Requests wait until there is a certificate. After a rotation,
 * requests use new connections, and streams on old connections end within 10 s; their watches resume. Source:
 * `pkg/kubelet/certificate/transport.go`.
 */
export class ClientCertificateCredentials implements CredentialSource {
  readonly #components: ClientCredentialComponents;
  #last: { readonly pair: CertificatePair; readonly credentials: Credentials } | undefined;

  constructor(components: ClientCredentialComponents) {
    checkComponents('ClientCertificateCredentials', components, {
      cluster: ['current', 'reject'],
      certificate: ['ready', 'reject'],
    });
    this.#components = components;
  }

  async current(signal?: AbortSignal): Promise<Credentials> {
    const { certificate, cluster } = this.#components;
    const pair = certificate.current ?? (await certificate.ready(signal));
    const { ca } = (await cluster.current(signal)).tls;
    const last = this.#last;
    if (last !== undefined && last.pair === pair && last.credentials.tls.ca === ca) return last.credentials;
    const tls: TlsMaterial = { ca, cert: pair.cert, key: pair.key };
    const credentials = { tls, headers: {} };
    this.#last = { pair, credentials };
    return credentials;
  }

  reject(credentials: Credentials): void {
    if (this.#last?.credentials === credentials) this.#components.certificate.reject(this.#last.pair);
  }
}
