import { resolve } from 'node:path';
import type { Clock, Random } from '@node-agent/async';
import type { LoadedConfiguration } from '@node-agent/config';
import type { BackgroundService, KubeletView } from '@node-agent/kubelet-core';
import { ClientCaFile, type Reviewer, SecuredServer, type ServingCertificate } from '@node-agent/server';
import type { Logger, Metrics, Tracer } from '@node-agent/telemetry';
import { operatorFiles as fs } from '../process/operator-files.ts';
import { accessOf } from './access.ts';
import type { NodeEndpoints } from './node-endpoints.ts';
import { servingFiles } from './serving-files.ts';

/** Components that the program passes to {@link securedServer}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tracer of requests to the server; absent if tracing is off. */
  readonly tracer: Tracer | undefined;
  readonly endpoints: Pick<NodeEndpoints, 'of' | 'idleTimeoutMs'>;
}

interface NodeFacts {
  readonly nodeName: string;
  readonly certDir: string;
}

/** Parts of the cluster connection that the server uses. */
interface ClusterSide {
  readonly reviewer: Reviewer;
  readonly servingCertificate?: ServingCertificate;
}

/** Factory of the secured server, and the background services it needs. The caller must start the services. */
interface PreparedServer {
  readonly make: (kubelet: KubeletView) => BackgroundService;
  readonly services: readonly BackgroundService[];
}

/**
 * Prepares the secured server: loads its serving certificate and client CA bundle. Returns `undefined` if the
 * configuration disables the server or no client could be let in; the second case is logged with its reason.
 * @throws Error naming the invalid configuration field
 * @throws Error if a file that the configuration names cannot be loaded
 */
export async function securedServer(
  loaded: LoadedConfiguration,
  { nodeName, certDir }: NodeFacts,
  { clock, random, metrics, tracer, endpoints, ...rest }: Components,
  cluster: ClusterSide | undefined,
): Promise<PreparedServer | undefined> {
  const { configuration, featureGates } = loaded;
  if (!configuration.enableServer) return undefined;
  const logger = rest.logger.child({ component: 'server' });
  const { clientCAFile } = configuration.authentication.x509;
  const authorities = clientCAFile === '' ? undefined : new ClientCaFile({ fs, clock, logger }, resolve(clientCAFile));
  await authorities?.load();
  const access = accessOf(loaded, nodeName, {
    ...{ clock, random },
    ...(cluster && { reviewer: cluster.reviewer }),
    ...(authorities && { authorities }),
  });
  if (access.authentication === undefined) {
    logger.warn({ because: access.because, port: configuration.port }, 'Not starting the secured server');
    return undefined;
  }
  const reload = featureGates.enabled('ReloadKubeletServerCertificateFile');
  const serving = cluster?.servingCertificate
    ? { certificate: cluster.servingCertificate, services: [] }
    : await servingFiles({ ...configuration, certDir, nodeName, reload }, { clock, logger });

  const services = [...serving.services];
  if (authorities && featureGates.enabled('ReloadKubeletClientCAFile')) {
    services.push({ name: 'client CA bundle', start: (signal) => authorities.start(signal) });
  }
  const make = (kubelet: KubeletView): BackgroundService => {
    const server = new SecuredServer(
      {
        ...{ clock, logger, metrics, tracer, certificate: serving.certificate },
        ...(authorities && { authorities }),
        ...access,
        ...endpoints.of(kubelet),
      },
      {
        address: configuration.address,
        port: configuration.port,
        debugging: configuration.enableDebuggingHandlers,
        limits: { stallMs: endpoints.idleTimeoutMs },
        tls: {
          cipherSuites: configuration.tlsCipherSuites,
          minVersion: configuration.tlsMinVersion,
          curvePreferences: configuration.tlsCurvePreferences,
        },
        onListening: (listening) => logger.info({ ...listening }, 'Secured server is listening'),
      },
    );
    return { name: 'secured server', start: (signal) => server.start(signal) };
  };
  return { make, services };
}
