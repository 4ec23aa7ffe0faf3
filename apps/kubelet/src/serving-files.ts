import { resolve } from 'node:path';
import type { Clock } from '@node-agent/async';
import { SelfSignedFiles, ServingCertificateFiles } from '@node-agent/certificates';
import { nodeFileSystem as fs } from '@node-agent/host';
import type { BackgroundService } from '@node-agent/kubelet-core';
import type { ServingCertificate } from '@node-agent/server';
import type { Logger } from '@node-agent/telemetry';

interface ServingFileSettings {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly certDir: string;
  readonly nodeName: string;
  /** The feature gate ReloadKubeletServerCertificateFile: whether files that change are read again. */
  readonly reload: boolean;
}

/** A certificate, and what keeps it: to be started. */
interface KeptCertificate {
  readonly certificate: ServingCertificate;
  readonly services: readonly BackgroundService[];
}

/**
 * The serving certificate of a node that asks no API server for one (`InitializeTLS`, `cmd/kubelet/app/server.go`): that of the
 * configuration's files, else one of its own in `--cert-dir`.
 * @throws CertificateError for files that cannot be served with
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
      ...(isOwn ? [{ name: 'own certificate', start: (signal: AbortSignal) => own.start(signal) }] : []),
      ...(isOwn || reload
        ? [{ name: 'serving certificate', start: (signal: AbortSignal) => certificate.start(signal) }]
        : []),
    ],
  };
}
