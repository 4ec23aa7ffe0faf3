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
import { nodeFileSystem } from '@node-agent/host';
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
import { BootstrapClients } from './bootstrap-clients.ts';

/** What the program gives. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The client of the connection that is made with these credentials. */
  readonly requests: () => RestClient;
}

/** How a node speaks with its API server. */
export interface ClusterAccess extends AsyncDisposable {
  readonly connection: ConnectionConfig;
  /** In place of the connection's own user; absent where that one is used. */
  readonly credentials?: CredentialSource;
  /** To be run beside everything else. */
  readonly services: readonly BackgroundService[];
  /** To be called before each scrape of the metrics. */
  reportTtl(): void;
}

const fs = nodeFileSystem;
const PREFIX = 'kubelet-client';
/** How long until a kubeconfig that could not be written is tried again. */
const WRITE_RETRY_MS = 10_000;

/**
 * Finds out with which credentials the API server is spoken to, by the rules of upstream's `buildKubeletClientConfig`: those of
 * the kubeconfig as it is; or a client certificate that is asked for, with the bootstrap kubeconfig where there is no valid
 * one yet, and that is replaced in time with `rotateCertificates`. Nothing is asked of the server yet, and only requests wait
 * for a certificate: the node's own pods run.
 * @throws KubeError `InvalidConfig`; CertificateError `InvalidPair`; errors of the file system
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
  if (problem !== undefined) logger.info({ problem, bootstrapKubeconfig }, 'The bootstrap kubeconfig is used');

  const directory = resolve(flags.certDir);
  const known = problem === undefined ? await certificateOf(connection, kubeconfig) : {};
  const store = new CertificateStore({ fs, clock, logger }, { directory, prefix: PREFIX, ...known.files });
  const bootstrap = new BootstrapClients(bootstrapKubeconfig || kubeconfig, components);
  const certificate = new CertificateManager(
    {
      ...components,
      // Without rotation, a certificate that no kubeconfig names is not used: as upstream, one is asked for.
      store: rotate ? store : { load: async () => undefined, save: store.save.bind(store) },
      pendingKey: new PendingKey({ fs, logger }, { directory, prefix: PREFIX }),
      client: (identity) => (identity === 'bootstrap' ? bootstrap.get() : components.requests()),
    },
    { purpose: 'client', subject: () => nodeSubject(nodeName), rotate, ...known.pair },
  );
  const { cluster } = connection;
  const write = (): Promise<void> => writeKubeconfig(fs, resolve(kubeconfig), { cluster }, store.currentPath);
  // With rotation the file says at once where the certificate will be; without, it stands for one that is there.
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

/** A kubeconfig's own certificate is what a rotation begins with: kubeadm gives a control plane's kubelet such a one. */
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
    throw new Error(`${kubeconfig}: the user's certificate and key: ${errorText(cause)}`, { cause });
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
      logger.error({ err }, 'The kubeconfig cannot be written');
    }
    await sleep(clock, WRITE_RETRY_MS, signal);
  }
}
