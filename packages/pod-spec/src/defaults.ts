import type { Container, EphemeralContainer, LifecycleHandler, Pod, PodSpec, Probe, Volume } from './api.ts';
import { defaultPullPolicy } from './default-pull-policy.ts';
import { defaultPodResources } from './default-resources.ts';
import { defaultVolume } from './default-volumes.ts';

/** The part of a pod needed for defaulting, so that a manifest without a UID can be passed. */
export type PodLike = Pick<Pod, 'spec'>;

/**
 * Fills in the default values of the API server for absent fields of a v1 Pod (`pkg/apis/core/v1/defaults.go`).
 * Existing values are kept, valid or not. Quantities become canonical. `null`, which YAML has for an empty field,
 * counts as absent and is removed. Idempotent.
 */
export function defaultPod<P extends PodLike>(pod: P): P {
  return { ...pod, spec: defaultSpec(withoutNulls(pod.spec)) };
}

function defaultSpec(spec: PodSpec): PodSpec {
  const hostNetwork = spec.hostNetwork === true;
  const containers = list(spec.containers).map((one) => defaultContainer(one, hostNetwork));
  const initContainers = list(spec.initContainers).map((one) => defaultContainer(one, hostNetwork));
  const ephemeral = list(spec.ephemeralContainers).map((one) => defaultEphemeralContainer(one));
  const serviceAccountName = spec.serviceAccountName || spec.serviceAccount;
  return defaultPodResources({
    ...spec,
    dnsPolicy: spec.dnsPolicy || 'ClusterFirst',
    restartPolicy: spec.restartPolicy || 'Always',
    terminationGracePeriodSeconds: gracePeriod(spec.terminationGracePeriodSeconds),
    schedulerName: spec.schedulerName || 'default-scheduler',
    enableServiceLinks: spec.enableServiceLinks ?? true,
    securityContext: spec.securityContext ?? {},
    // The deprecated field and its replacement are kept equal.
    ...(serviceAccountName ? { serviceAccountName, serviceAccount: serviceAccountName } : {}),
    containers,
    ...(spec.initContainers ? { initContainers } : {}),
    ...(spec.ephemeralContainers ? { ephemeralContainers: ephemeral } : {}),
    ...(spec.volumes ? { volumes: spec.volumes.map((volume: Volume) => defaultVolume(volume)) } : {}),
  });
}

/** Old objects may have a negative period, which counts as the shortest. */
function gracePeriod(seconds = 30): number {
  return seconds < 0 ? 1 : seconds;
}

function defaultContainer(container: Container, hostNetwork: boolean): Container {
  const { ports } = container;
  return {
    ...container,
    ...defaultCommon(container),
    ...(ports
      ? {
          ports: ports.map((port) => {
            const hostPort = port.hostPort || (hostNetwork ? port.containerPort : undefined);
            return { ...port, protocol: port.protocol || 'TCP', ...(hostPort ? { hostPort } : {}) };
          }),
        }
      : {}),
  };
}

function defaultEphemeralContainer(container: EphemeralContainer): EphemeralContainer {
  return { ...container, ...defaultCommon(container) };
}

type Common = Pick<
  Container,
  | 'env'
  | 'imagePullPolicy'
  | 'lifecycle'
  | 'livenessProbe'
  | 'readinessProbe'
  | 'resources'
  | 'startupProbe'
  | 'terminationMessagePath'
  | 'terminationMessagePolicy'
>;

function defaultCommon(container: Container | EphemeralContainer): Common {
  const { env, lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  return {
    imagePullPolicy: container.imagePullPolicy || defaultPullPolicy(container.image),
    terminationMessagePath: container.terminationMessagePath || '/dev/termination-log',
    terminationMessagePolicy: container.terminationMessagePolicy || 'File',
    resources: container.resources ?? {},
    ...(env ? { env: env.map(defaultEnvVar) } : {}),
    ...(livenessProbe ? { livenessProbe: defaultProbe(livenessProbe) } : {}),
    ...(readinessProbe ? { readinessProbe: defaultProbe(readinessProbe) } : {}),
    ...(startupProbe ? { startupProbe: defaultProbe(startupProbe) } : {}),
    ...(lifecycle
      ? {
          lifecycle: {
            ...lifecycle,
            ...(lifecycle.postStart ? { postStart: defaultHandler(lifecycle.postStart) } : {}),
            ...(lifecycle.preStop ? { preStop: defaultHandler(lifecycle.preStop) } : {}),
          },
        }
      : {}),
  };
}

type EnvList = NonNullable<Container['env']>;

function defaultEnvVar(variable: EnvList[number]): EnvList[number] {
  const { valueFrom } = variable;
  if (!valueFrom) return variable;
  const { fieldRef, fileKeyRef, resourceFieldRef } = valueFrom;
  return {
    ...variable,
    valueFrom: {
      ...valueFrom,
      ...(fieldRef ? { fieldRef: { ...fieldRef, apiVersion: fieldRef.apiVersion || 'v1' } } : {}),
      ...(resourceFieldRef
        ? { resourceFieldRef: { ...resourceFieldRef, divisor: resourceFieldRef.divisor ?? '0' } }
        : {}),
      ...(fileKeyRef ? { fileKeyRef: { ...fileKeyRef, optional: fileKeyRef.optional ?? false } } : {}),
    },
  };
}

function defaultProbe(probe: Probe): Probe {
  const { grpc, httpGet } = probe;
  return {
    ...probe,
    timeoutSeconds: probe.timeoutSeconds || 1,
    periodSeconds: probe.periodSeconds || 10,
    successThreshold: probe.successThreshold || 1,
    failureThreshold: probe.failureThreshold || 3,
    ...(httpGet ? { httpGet: defaultHttpGet(httpGet) } : {}),
    ...(grpc ? { grpc: { ...grpc, service: grpc.service ?? '' } } : {}),
  };
}

function defaultHandler(handler: LifecycleHandler): LifecycleHandler {
  return handler.httpGet ? { ...handler, httpGet: defaultHttpGet(handler.httpGet) } : handler;
}

function defaultHttpGet(get: NonNullable<Probe['httpGet']>): NonNullable<Probe['httpGet']> {
  return { ...get, path: get.path || '/', scheme: get.scheme || 'HTTP' };
}

/** The type requires `containers`, but a manifest that was not validated may lack it. */
function list<T>(items: readonly T[] | undefined): readonly T[] {
  return items ?? [];
}

function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries.map(([key, field]) => [key, withoutNulls(field)])) as T;
}
