import type { Container, ContainerPort, LifecycleHandler, Pod } from '@node-agent/pod-spec';

/** Label keys that mark the kubelet's sandboxes and containers in the runtime (`pkg/kubelet/kuberuntime/labels.go`). */
export const criLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

/** Annotation keys for the facts about a container that a restarted kubelet must know. */
export const criAnnotations = {
  hash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  podDeletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  podTerminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
} as const;

/** Returns the labels of a pod's sandbox: the pod's own labels and its identity. */
export function sandboxLabels(pod: Pod): Record<string, string> {
  return { ...pod.metadata.labels, ...podIdentity(pod) };
}

/** Returns the annotations of a pod's sandbox: the pod's own annotations, unchanged. */
export function sandboxAnnotations(pod: Pod): Record<string, string> {
  return { ...pod.metadata.annotations };
}

/** Returns the labels of a container: its identity. Only the sandbox has the pod's own labels. */
export function containerLabels(pod: Pod, container: Container): Record<string, string> {
  return { ...podIdentity(pod), [criLabels.containerName]: container.name };
}

/**
 * Returns the annotations of a container. The kubelet's own annotations take precedence over `extra`, which comes from
 * device plugins.
 * @param hash hash of the container's spec, in lower-case hex
 */
export function containerAnnotations(
  pod: Pod,
  container: Container,
  restartCount: number,
  hash: string,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  return {
    ...extra,
    [criAnnotations.hash]: hash,
    [criAnnotations.restartCount]: String(restartCount),
    [criAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [criAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGracePeriodSeconds != null && {
      [criAnnotations.podDeletionGracePeriod]: String(deletionGracePeriodSeconds),
    }),
    ...(terminationGracePeriodSeconds != null && {
      [criAnnotations.podTerminationGracePeriod]: String(terminationGracePeriodSeconds),
    }),
    ...(preStop && { [criAnnotations.preStopHandler]: JSON.stringify(preStop) }),
    ...(container.ports && container.ports.length > 0 && { [criAnnotations.ports]: JSON.stringify(container.ports) }),
  };
}

/** Identity of a sandbox or container from its labels; '' for a missing label. */
export interface ParsedLabels {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  /** Name of the container; '' for a sandbox. */
  readonly containerName: string;
}

/** Parses the labels of a sandbox or container. Never throws; a missing label becomes ''. */
export function parseContainerLabels(labels: Readonly<Record<string, string>> | null | undefined): ParsedLabels {
  return {
    podName: own(labels, criLabels.podName) ?? '',
    podNamespace: own(labels, criLabels.podNamespace) ?? '',
    podUid: own(labels, criLabels.podUid) ?? '',
    containerName: own(labels, criLabels.containerName) ?? '',
  };
}

/** Contents of a container's annotations. Unreadable values are treated as absent and listed in `malformed`. */
export interface ParsedAnnotations {
  /** Hash of the container's spec, in lower-case hex without leading zeros; '' if absent or not a 64-bit hex number. */
  readonly hash: string;
  /** Number of restarts of the container; 0 if absent or not a number. */
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly podDeletionGracePeriodSeconds?: number;
  readonly podTerminationGracePeriodSeconds?: number;
  readonly preStopHandler?: LifecycleHandler;
  readonly ports?: readonly ContainerPort[];
  /** Keys of annotations whose values cannot be read, for a log message. */
  readonly malformed: readonly string[];
}

/** Parses a container's annotations. Never throws, whatever annotations the runtime or another program wrote. */
export function parseContainerAnnotations(
  annotations: Readonly<Record<string, string>> | null | undefined,
): ParsedAnnotations {
  const malformed: string[] = [];
  const read = <T>(key: string, parse: (text: string) => T | undefined): T | undefined => {
    const text = own(annotations, key);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) malformed.push(key);
    return value;
  };
  const hash = read(criAnnotations.hash, parseHash);
  const restartCount = read(criAnnotations.restartCount, parseCount);
  const deletion = read(criAnnotations.podDeletionGracePeriod, parseInteger);
  const termination = read(criAnnotations.podTerminationGracePeriod, parseInteger);
  const preStopHandler = read(criAnnotations.preStopHandler, parseHandler);
  const ports = read(criAnnotations.ports, parsePorts);
  return {
    hash: hash ?? '',
    restartCount: restartCount ?? 0,
    terminationMessagePath: own(annotations, criAnnotations.terminationMessagePath) ?? '',
    terminationMessagePolicy: own(annotations, criAnnotations.terminationMessagePolicy) ?? '',
    ...(deletion !== undefined && { podDeletionGracePeriodSeconds: deletion }),
    ...(termination !== undefined && { podTerminationGracePeriodSeconds: termination }),
    ...(preStopHandler && { preStopHandler }),
    ...(ports && { ports }),
    malformed,
  };
}

/**
 * Parses only the hash and the restart count, like {@link parseContainerAnnotations}, for lists of all containers of a
 * node.
 */
export function parseContainerVersion(
  annotations: Readonly<Record<string, string>>,
): Pick<ParsedAnnotations, 'hash' | 'restartCount'> {
  return {
    hash: parseHash(own(annotations, criAnnotations.hash) ?? '') ?? '',
    restartCount: parseCount(own(annotations, criAnnotations.restartCount) ?? '') ?? 0,
  };
}

function podIdentity(pod: Pod): Record<string, string> {
  return {
    [criLabels.podName]: pod.metadata.name,
    [criLabels.podNamespace]: pod.metadata.namespace,
    [criLabels.podUid]: pod.metadata.uid,
  };
}

function own(map: Readonly<Record<string, string>> | null | undefined, key: string): string | undefined {
  const value: unknown = map && Object.hasOwn(map, key) ? map[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

function parseHash(text: string): string | undefined {
  if (!/^[0-9a-fA-F]+$/.test(text)) return undefined;
  const digits = text.toLowerCase().replace(/^0+(?=.)/, '');
  return digits.length <= 16 ? digits : undefined;
}

function parseInteger(text: string): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function parseCount(text: string): number | undefined {
  const value = parseInteger(text);
  return value !== undefined && value >= 0 ? value : undefined;
}

function parseHandler(text: string): LifecycleHandler | undefined {
  const value = parseJson(text);
  return isRecord(value) ? (value as LifecycleHandler) : undefined;
}

function parsePorts(text: string): readonly ContainerPort[] | undefined {
  const value = parseJson(text);
  const isPort = (port: unknown): boolean => isRecord(port) && typeof port.containerPort === 'number';
  return Array.isArray(value) && value.every(isPort) ? (value as readonly ContainerPort[]) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
