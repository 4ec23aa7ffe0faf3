import { resolve } from 'node:path';
import type { Clock, Random } from '@node-agent/async';
import {
  CertificateManager,
  CertificateStore,
  type CertificateSubject,
  type NodeAddress,
  PendingKey,
  type SigningRequestClient,
  servingSubject,
} from '@node-agent/certificates';
import type { Logger, Metrics } from '@node-agent/telemetry';
import { operatorFiles as fs } from '../process/operator-files.ts';

/** Components that the program passes to {@link RequestedServingCertificate}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly requests: SigningRequestClient;
}

interface ServingSettings {
  readonly nodeName: string;
  readonly certDir: string;
  /** Certificate file that is served until a certificate is issued, if `tlsPrivateKeyFile` is set, too. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Whether the feature gate AllowDNSOnlyNodeCSR is enabled. */
  readonly allowDnsOnly: boolean;
}

/**
 * Serving certificate that the kubelet requests from the API server once the node's addresses are known
 * (`serverTLSBootstrap`).
 */
export class RequestedServingCertificate {
  readonly certificate: CertificateManager;
  readonly #settings: ServingSettings;
  #subject: CertificateSubject | undefined;

  constructor({ requests, ...components }: Components, settings: ServingSettings) {
    this.#settings = settings;
    const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile } = settings;
    const place = { directory: resolve(settings.certDir), prefix: 'kubelet-server' };
    const fallback = certFile !== '' && keyFile !== '' ? { fallback: { certFile, keyFile } } : {};
    this.certificate = new CertificateManager(
      {
        ...components,
        store: new CertificateStore({ ...components, fs }, { ...place, ...fallback }),
        pendingKey: new PendingKey({ ...components, fs }, place),
        client: () => requests,
      },
      { purpose: 'server', subject: () => this.#subject },
    );
  }

  /** Sets the node's addresses. If the current certificate lacks an address, a new certificate is requested. */
  setAddresses(addresses: readonly NodeAddress[]): void {
    const { nodeName, allowDnsOnly } = this.#settings;
    this.#subject = servingSubject(nodeName, addresses, allowDnsOnly);
    this.certificate.wake();
  }
}
