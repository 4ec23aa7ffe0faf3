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
import { nodeFileSystem as fs } from '@node-agent/host';
import type { Logger, Metrics } from '@node-agent/telemetry';

/** What the program gives. */
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
  /** `tlsCertFile` and `tlsPrivateKeyFile`: used until a certificate is issued, where both are given. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** The feature gate AllowDNSOnlyNodeCSR. */
  readonly allowDnsOnly: boolean;
}

/** A serving certificate that the API server is asked for, once the node's addresses are known (`serverTLSBootstrap`). */
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

  /** The node has these addresses now: another certificate is asked for where one is missing in it. */
  setAddresses(addresses: readonly NodeAddress[]): void {
    const { nodeName, allowDnsOnly } = this.#settings;
    this.#subject = servingSubject(nodeName, addresses, allowDnsOnly);
    this.certificate.wake();
  }
}
