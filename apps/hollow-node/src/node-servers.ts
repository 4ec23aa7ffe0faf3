import type { Clock, Random } from '@node-agent/async';
import { SelfSignedFiles, ServingCertificateFiles } from '@node-agent/certificates';
import { nodeFileSystem, readFileBounded } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { ConnectionConfig } from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import { Authentication, ClientCaFile, type Reviewer, SecuredServer, WebhookAuthorization } from '@node-agent/server';
import type { Logger, MetricsRegistry } from '@node-agent/telemetry';
import type { MakeServer } from './hollow-node.ts';
import type { HollowOptions } from './options.ts';

/** Largest size of a file that the user provides. */
const LIMIT_BYTES = 1024 * 1024;

/** File system for files that command-line flags name (certificates, keys, kubeconfig): reads have a size limit. */
export const userFiles: typeof nodeFileSystem = {
  ...nodeFileSystem,
  readFile: (path) => readFileBounded(nodeFileSystem, path, LIMIT_BYTES),
};

interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Reviews tokens and permissions of clients. */
  readonly reviewer: Reviewer;
}

/**
 * The kubelet servers of all nodes. All servers have the same certificate, and authenticate and authorize clients as a
 * kubelet in a cluster does.
 */
export interface NodeServers {
  readonly make: MakeServer;
  /** Services that the servers need. The caller must start them. */
  readonly services: readonly BackgroundService[];
}

/**
 * Loads the certificate and the client CA of the kubelet servers.
 * @throws Error if a file cannot be used, or if there is no client CA
 */
export async function nodeServers(
  { clock, random, logger, metrics, reviewer }: Components,
  { certificate, clientCaFile }: Pick<HollowOptions, 'certificate' | 'clientCaFile'>,
  address: string,
  { cluster }: Pick<ConnectionConfig, 'cluster'>,
): Promise<NodeServers> {
  const serving = await servingCertificate({ clock, logger }, certificate, address);
  const authorities = clientAuthorities({ clock, logger }, clientCaFile, cluster);
  await authorities.load();
  const authentication = new Authentication({ clock, random, reviewer, authorities });
  return {
    services: [
      { name: 'client CA bundle', start: (signal) => authorities.start(signal) },
      { name: 'serving certificate', start: (signal) => serving.start(signal) },
    ],
    make: ({ name, port = 0 }, handlers) =>
      new SecuredServer(
        {
          ...{ clock, logger: logger.child({ node: name }), metrics, certificate: serving },
          ...{ authorities, authentication, ...handlers },
          authorization: new WebhookAuthorization({ clock, random, reviewer }, { nodeName: name }),
        },
        { address, port },
      ),
  };
}

async function servingCertificate(
  components: Pick<Components, 'clock' | 'logger'>,
  certificate: HollowOptions['certificate'],
  address: string,
): Promise<ServingCertificateFiles> {
  const fs = certificate === undefined ? new MemoryFileSystem(components) : userFiles;
  const own = new SelfSignedFiles({ ...components, fs }, { directory: '/pki', host: address });
  if (certificate === undefined) await own.ensure();
  const files = new ServingCertificateFiles({ ...components, fs }, certificate ?? own.files);
  await files.load();
  return files;
}

/**
 * Returns the certificate authorities of the servers' clients. Default: the CA of the cluster, which also issues the
 * API server's client certificate.
 */
function clientAuthorities(
  components: Pick<Components, 'clock' | 'logger'>,
  file: string | undefined,
  { ca }: ConnectionConfig['cluster'],
): ClientCaFile {
  if (file !== undefined) return new ClientCaFile({ ...components, fs: userFiles }, file);
  if (ca === undefined) throw new Error('--client-ca-file: is required, because the kubeconfig has no CA');
  if ('file' in ca) return new ClientCaFile({ ...components, fs: userFiles }, ca.file);
  const readFile = async (): Promise<Uint8Array> => Buffer.from(ca.data);
  return new ClientCaFile({ ...components, fs: { readFile } }, 'certificate-authority-data of the kubeconfig');
}
