import { checkComponents } from '@node-agent/async';
import type { CredentialSource, Credentials, TlsMaterial } from '@node-agent/kube-client';
import type { CertificateManager } from './certificate-manager.ts';
import type { CertificatePair } from './certificate-pair.ts';

/** What {@link ClientCertificateCredentials} works with. */
export interface ClientCredentialComponents {
  /** The API server's CA comes from here: `ConfiguredCredentials` of the cluster, without a user. */
  readonly cluster: CredentialSource;
  readonly certificate: Pick<CertificateManager, 'current' | 'ready' | 'reject'>;
}

/**
 * The credentials of a node: its client certificate, as it is at the time. A request before there is one waits for it. When it
 * was rotated, requests go over new connections, and the streams of the old ones are ended within 10 s: their watches go on
 * from where they were. Source: `pkg/kubelet/certificate/transport.go`.
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
