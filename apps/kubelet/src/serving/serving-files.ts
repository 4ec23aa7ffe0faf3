import { resolve } from 'node:path';
import type { Clock } from '@node-agent/async';
import { SelfSignedFiles, ServingCertificateFiles } from '@node-agent/certificates';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServingCertificate } from '@node-agent/server';
import type { Logger } from '@node-agent/telemetry';
import { operatorFiles as fs } from '../process/operator-files.ts';

interface ServingFileSettings {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly certDir: string;
  readonly nodeName: string;
  /** Whether changed files are loaded again (feature gate ReloadKubeletServerCertificateFile). */
  readonly reload: boolean;
}

/** A certificate and the background services that maintain it. The caller must start the services. */
interface KeptCertificate {
  readonly certificate: ServingCertificate;
  readonly services: readonly BackgroundService[];
}

/**
 * Loads the serving certificate of a node that does not request one from the API server (`InitializeTLS`,
 * `cmd/kubelet/app/server.go`): the configured files, or else a self-signed certificate in `--cert-dir`.
 * @throws CertificateError if the files cannot be used
 */
export async function servingFiles(
  { tlsCertFile, tlsPrivateKeyFile, certDir, nodeName, reload }: ServingFileSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<KeptCertificate> {
  const isOwn = tlsCertFile === '';
  const own = new SelfSignedFiles({ fs, clock, logger }, { directory: resolve(certDir), host: nodeName });
  if (isOwn) await own.ensure();
  const certificate = new ServingCertificateFiles(
    { fs, clock, logger },
    isOwn ? own.files : { certFile: resolve(tlsCertFile), keyFile: resolve(tlsPrivateKeyFile) },
  );
  await certificate.load();
  return {
    certificate,
    services: [
      ...(isOwn ? [{ name: 'self-signed certificate', start: (signal: AbortSignal) => own.start(signal) }] : []),
      ...(isOwn || reload
        ? [{ name: 'serving certificate', start: (signal: AbortSignal) => certificate.start(signal) }]
        : []),
    ],
  };
}
