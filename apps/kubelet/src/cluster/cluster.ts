import { arch } from 'node:os';
import type { Clock, Random } from '@node-agent/async';
import type { FeatureGates, KubeletConfiguration, KubeletFlags } from '@node-agent/config';
import { ApiEventRecorder, restEventSink } from '@node-agent/events';
import { KubeClients } from '@node-agent/kube-client';
import type { ClusterPart } from '@node-agent/kubelet-assembly';
import { apiReviewer, clusterPart } from '@node-agent/kubelet-assembly/cluster';
import type { BackgroundService } from '@node-agent/kubelet-core';
import { goArchitecture, type Reservations } from '@node-agent/node-status';
import type { Reviewer, ServingCertificate } from '@node-agent/server';
import type { Logger, Metrics, Tracer } from '@node-agent/telemetry';
import { heartbeatTimeoutMs, requestRate } from '../configuration/settings.ts';
import { machineSources, nodeOptions } from '../node/node-options.ts';
import { operatorFiles } from '../process/operator-files.ts';
import { RequestedServingCertificate } from '../serving/serving-certificate.ts';
import { KUBELET_VERSION } from '../version.ts';
import { clusterAccess } from './credentials.ts';
import { nodeCredentials } from './image-credentials.ts';

/** Components that the program passes to {@link joinCluster}. */
interface Components {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tracer of API requests; absent if tracing is off. */
  readonly tracer?: Tracer | undefined;
}

/** Name and resource reservations of this node. */
interface NodeFacts {
  readonly nodeName: string;
  readonly reservations: Reservations;
}

/** The kubelet's connection to the API server and the services that use the connection. Must be disposed last. */
export interface JoinedCluster extends AsyncDisposable {
  readonly part: ClusterPart;
  /** Writes events to the API server. The caller must start the recorder. */
  readonly events: ApiEventRecorder;
  /** Background services that keep the node's certificates. The caller must start them. */
  readonly certificates: readonly BackgroundService[];
  /** Serving certificate issued by the API server. Present only with `serverTLSBootstrap`. */
  readonly servingCertificate?: ServingCertificate;
  /** Authenticates and authorizes clients of this node's servers with TokenReviews and SubjectAccessReviews. */
  readonly reviewer: Reviewer;
  /** Changes the rates of requests to the API server. */
  setRates(rates: Pick<KubeletConfiguration, 'kubeAPIQPS' | 'kubeAPIBurst' | 'eventRecordQPS' | 'eventBurst'>): void;
  /** Updates the metrics of certificate lifetimes. Must be called before each scrape. */
  reportTtl(): void;
}

/**
 * Prepares the node's connection to the API server. Sends no request yet.
 * @throws KubeError `InvalidConfig` naming the invalid kubeconfig field
 * @throws NodeStatusError, ObjectCacheError if a setting is invalid
 */
export async function joinCluster(
  configuration: KubeletConfiguration,
  flags: KubeletFlags,
  featureGates: FeatureGates,
  { nodeName, reservations }: NodeFacts,
  { clock, random, logger, metrics, tracer }: Components,
): Promise<JoinedCluster> {
  const child = (component: string) => ({ clock, random, metrics, logger: logger.child({ component }) });
  const fs = operatorFiles;
  const credentialsOfNode = await nodeCredentials({ ...child('images'), fs }, flags);

  const access = await clusterAccess(flags, configuration, nodeName, {
    ...child('client-certificate'),
    requests: () => clients.requests,
  });
  const { connection, credentials } = access;
  const clients: KubeClients = new KubeClients(
    {
      ...child('kube-client'),
      fs,
      environment: process.env,
      ...(credentials && { credentials }),
      ...(tracer && { tracer }),
    },
    {
      connection,
      requests: requestRate(configuration),
      // The client of events has no rate limit, because the event recorder applies `eventRecordQPS`.
      events: { qps: 0, burst: 1 },
      heartbeatTimeoutMs: heartbeatTimeoutMs(configuration),
      userAgent: `kubelet/${KUBELET_VERSION} (linux/${goArchitecture(arch())}) node-agent`,
    },
  );
  const { serverTLSBootstrap, tlsCertFile, tlsPrivateKeyFile } = configuration;
  const serving = serverTLSBootstrap
    ? new RequestedServingCertificate(
        { ...child('serving-certificate'), requests: clients.requests },
        {
          ...{ nodeName, certDir: flags.certDir, tlsCertFile, tlsPrivateKeyFile },
          allowDnsOnly: featureGates.enabled('AllowDNSOnlyNodeCSR'),
        },
      )
    : undefined;
  const events = new ApiEventRecorder(
    {
      ...child('events'),
      sink: restEventSink(clients.events),
    },
    { host: nodeName, qps: configuration.eventRecordQPS, burst: configuration.eventBurst },
  );
  const part = clusterPart(
    {
      requests: clients.requests,
      heartbeats: clients.heartbeats,
      closeConnections: () => clients.closeConnections(),
      ...(serving && { onAddresses: (addresses) => serving.setAddresses(addresses) }),
      machine: machineSources(flags, nodeName),
      nodeCredentials: credentialsOfNode,
    },
    {
      node: nodeOptions(configuration, flags, featureGates, { nodeName, reservations }),
      leaseDurationSeconds: configuration.nodeLeaseDurationSeconds,
      changeDetection: configuration.configMapAndSecretChangeDetectionStrategy,
    },
  );
  return {
    part,
    events,
    certificates: [
      ...access.services,
      ...(serving
        ? [{ name: 'serving certificate', start: (signal: AbortSignal) => serving.certificate.start(signal) }]
        : []),
    ],
    ...(serving && { servingCertificate: serving.certificate }),
    reviewer: apiReviewer(clients.requests),
    setRates(rates) {
      clients.setRequestRate(requestRate(rates));
      events.setRate({ qps: rates.eventRecordQPS, burst: rates.eventBurst });
    },
    reportTtl: () => {
      access.reportTtl();
      serving?.certificate.reportTtl();
    },
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]();
      await clients[Symbol.asyncDispose]();
      await access[Symbol.asyncDispose]();
    },
  };
}
