import { resolve } from 'node:path';
import { type Clock, type Random, sleep } from '@node-agent/async';
import {
  CertificateManager,
  type CertificateManagerOptions,
  CertificateStore,
  ClientCertificateCredentials,
  kubeconfigProblem,
  nodeSubject,
  type PairFiles,
  PendingKey,
  readPair,
  writeKubeconfig,
} from '@node-agent/certificates';
import type { KubeletConfiguration, KubeletFlags } from '@node-agent/config';
import {
  ConfiguredCredentials,
  type ConnectionConfig,
  type CredentialSource,
  loadKubeconfig,
  nodeExec,
  type RestClient,
} from '@node-agent/kube-client';
import type { BackgroundService } from '@node-agent/kubelet-core';
import { errorText, type Logger, type Metrics } from '@node-agent/telemetry';
import { operatorFiles } from '../process/operator-files.ts';
import { BootstrapClients } from './bootstrap-clients.ts';

/** Components that the program passes to {@link clusterAccess}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Returns the API client that uses these credentials. The client is created after the credentials. */
  readonly requests: () => RestClient;
}

/** Connection and credentials with which the node reaches its API server. */
export interface ClusterAccess extends AsyncDisposable {
  readonly connection: ConnectionConfig;
  /** Credentials that replace the user of the connection. If absent, the user of the connection is used. */
  readonly credentials?: CredentialSource;
  /** Background services that the caller must start. */
  readonly services: readonly BackgroundService[];
  /** Updates the metric of the certificate's lifetime. Must be called before each scrape. */
  reportTtl(): void;
}

const fs = operatorFiles;
const PREFIX = 'kubelet-client';
/** Delay before the kubelet retries to write a kubeconfig. */
const WRITE_RETRY_MS = 10_000;

/**
 * Chooses the credentials for the API server by the rules of upstream's `buildKubeletClientConfig`:
 *
 * - the kubeconfig's own credentials, if the kubeconfig is valid and `rotateCertificates` is off;
 * - otherwise a client certificate that the kubelet requests. If the kubeconfig holds no valid credentials, the
 *   bootstrap kubeconfig is used for the request. With `rotateCertificates` the certificate is replaced before it
 *   expires.
 *
 * Sends no request yet. Only requests to the API server wait for a certificate; static pods run before one is issued.
 * @throws KubeError `InvalidConfig` if a kubeconfig is invalid
 * @throws CertificateError `InvalidPair` if certificate and key do not match
 * @throws Error if a file cannot be read or written
 */
export async function clusterAccess(
  flags: Pick<KubeletFlags, 'bootstrapKubeconfig' | 'certDir' | 'kubeconfig'>,
  { rotateCertificates: rotate }: Pick<KubeletConfiguration, 'rotateCertificates'>,
  nodeName: string,
  components: Components,
): Promise<ClusterAccess> {
  const { clock, logger } = components;
  const { bootstrapKubeconfig, kubeconfig } = flags;
  const problem = bootstrapKubeconfig ? await kubeconfigProblem(fs, kubeconfig, clock.now()) : undefined;
  const connection = await loadKubeconfig({ fs }, problem === undefined ? kubeconfig : bootstrapKubeconfig);
  if (problem === undefined && !rotate) {
    return { connection, services: [], reportTtl() {}, async [Symbol.asyncDispose]() {} };
  }
  if (problem !== undefined) logger.info({ problem, bootstrapKubeconfig }, 'Using the bootstrap kubeconfig');

  const directory = resolve(flags.certDir);
  const known = problem === undefined ? await certificateOf(connection, kubeconfig) : {};
  const store = new CertificateStore({ fs, clock, logger }, { directory, prefix: PREFIX, ...known.files });
  const bootstrap = new BootstrapClients(bootstrapKubeconfig || kubeconfig, components);
  const certificate = new CertificateManager(
    {
      ...components,
      // Without rotation, a stored certificate that no kubeconfig refers to is ignored and a new one is requested, as
      // upstream.
      store: rotate ? store : { load: async () => undefined, save: store.save.bind(store) },
      pendingKey: new PendingKey({ fs, logger }, { directory, prefix: PREFIX }),
      client: (identity) => (identity === 'bootstrap' ? bootstrap.get() : components.requests()),
    },
    { purpose: 'client', subject: () => nodeSubject(nodeName), rotate, ...known.pair },
  );
  const { cluster } = connection;
  const write = (): Promise<void> => writeKubeconfig(fs, resolve(kubeconfig), { cluster }, store.currentPath);
  // With rotation, the kubeconfig is written now and refers to the path of the future certificate. Without rotation,
  // the kubeconfig is written after the certificate was issued.
  if (problem !== undefined && rotate) await write();
  const writeWhenReady = async (signal: AbortSignal): Promise<void> => {
    await certificate.ready(signal);
    await writeUntilDone(write, { clock, logger }, signal);
  };
  const environment = process.env;
  return {
    connection: { ...connection, user: {} },
    credentials: new ClientCertificateCredentials({
      cluster: new ConfiguredCredentials({ fs, clock, logger, exec: nodeExec, environment }, { cluster, user: {} }),
      certificate,
    }),
    services: [
      { name: 'client certificate', start: (signal) => certificate.start(signal) },
      ...(rotate ? [] : [{ name: 'kubeconfig', start: writeWhenReady }]),
    ],
    reportTtl: () => certificate.reportTtl(),
    [Symbol.asyncDispose]: () => bootstrap[Symbol.asyncDispose](),
  };
}

/**
 * Returns the client certificate of a kubeconfig. Rotation starts with this certificate: kubeadm writes such a
 * kubeconfig for the kubelet of a control plane node.
 */
async function certificateOf(
  { user }: ConnectionConfig,
  kubeconfig: string,
): Promise<{
  readonly files?: { readonly fallback: PairFiles };
  readonly pair?: Pick<CertificateManagerOptions, 'initialPair'>;
}> {
  if (user.clientCertificate === undefined) return {};
  const { cert, key } = user.clientCertificate;
  if ('file' in cert && 'file' in key) return { files: { fallback: { certFile: cert.file, keyFile: key.file } } };
  try {
    return { pair: { initialPair: await readPair(fs, { cert, key }) } };
  } catch (cause) {
    throw new Error(`${kubeconfig}: load client certificate and key: ${errorText(cause)}`, { cause });
  }
}

async function writeUntilDone(
  write: () => Promise<void>,
  { clock, logger }: Pick<Components, 'clock' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await write();
      return;
    } catch (err) {
      logger.error({ err }, 'Failed to write the kubeconfig');
    }
    await sleep(clock, WRITE_RETRY_MS, signal);
  }
}
