import { claimName } from './claim-plans.ts';
import type { WholePlan } from './numa-plans.ts';
import { type ContainerPlan, type PodPlan, type PostStartPlan, type ProbeKind, rulesOf } from './plans.ts';
import { LIVENESS_FAILURE_THRESHOLD, READINESS_FAILURE_THRESHOLD } from './probe-plans.ts';

/** First argument of a simulated container's command. The second argument is the container's plan as JSON. */
export const SIMULATED_COMMAND = 'simulated';

/** Command of exec `postStart` hooks. The container's plan defines its outcome. */
export const HOOK_COMMAND = 'hook';
/** Command of exec `preStop` hooks. */
export const PRE_STOP_COMMAND = 'preStop';

/** Name of the node. The names of static pods end with the name of the node. */
export const NODE_NAME = 'node';

const IMAGE = 'registry.example/app:1';
/**
 * Mounts of the volume `scratch`. The mount with a subpath needs several steps, which a kill can interrupt at any
 * point.
 */
const SCRATCH_MOUNTS = [
  { name: 'scratch', mountPath: '/scratch' },
  { name: 'scratch', mountPath: '/part', subPath: 'deep/part' },
];
/** Name of the ResourceClaim in a pod's spec. */
const POD_CLAIM = 'device';
/** Name of an image whose pull takes a long time. */
export const SLOW_IMAGE = 'registry.example/slow';

/** Priority of `system-node-critical`. */
export const CRITICAL_PRIORITY = 2_000_001_000;

/** A directory on a foreign (network) file system that may hang. Some pods mount it. */
export const FOREIGN_DIRECTORY = '/mnt/foreign/data';

/** The condition type of the readiness gates of simulated pods. */
export const GATE_CONDITION = 'example.com/gate';
/** A condition that another component sets on every pod of the API from the start. */
export const FOREIGN_CONDITION = 'example.com/foreign';

/** Files of every simulated secret and config map. Each contains the object's version. */
export const OBJECT_FILES = ['a', 'b'] as const;

/** Returns the manifest of a pod, as a user would write it. */
export function manifestOf(pod: PodPlan): string {
  return JSON.stringify(podObject(pod));
}

/** Returns a manifest of several pods. */
export function manifestOfAll(pods: readonly PodPlan[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: pods.map(podObject) });
}

/** Returns a pod's object, without the fields that a source or an API server adds. */
export function podObject(pod: PodPlan): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
} {
  const { objects = [], disks = [], csi = [], inlineCsi = [] } = pod;
  const volumeDevices = csi.filter(({ block }) => block).map(({ name }) => ({ name, devicePath: `/dev/${name}` }));
  const volumeMounts = [
    ...(pod.emptyDir ? SCRATCH_MOUNTS : []),
    ...(pod.foreign ? [{ name: 'foreign', mountPath: '/foreign' }] : []),
    ...objects.map(({ name }) => ({ name, mountPath: `/objects/${name}` })),
    ...disks.map((name) => ({ name, mountPath: `/disks/${name}` })),
    ...csi.filter(({ block }) => !block).map(({ name }) => ({ name, mountPath: `/csi/${name}` })),
    ...inlineCsi.map((_, n) => ({ name: inlineName(n), mountPath: `/csi/${inlineName(n)}` })),
  ];
  const volumes = [
    ...(pod.emptyDir ? [{ name: 'scratch', emptyDir: {} }] : []),
    ...(pod.foreign ? [{ name: 'foreign', hostPath: { path: FOREIGN_DIRECTORY, type: 'Directory' } }] : []),
    ...objects.map(({ kind, name, optional }) => ({
      name,
      ...(kind === 'secret' ? { secret: { secretName: name, optional } } : { configMap: { name, optional } }),
    })),
    ...[...disks, ...csi.map(({ name }) => name)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...inlineCsi.map((driver, n) => ({ name: inlineName(n), csi: { driver } })),
  ];
  const container = (plan: ContainerPlan): object => ({
    name: plan.name,
    image: plan.slowImage ? `${SLOW_IMAGE}:${pod.uid}` : IMAGE,
    command: [SIMULATED_COMMAND, JSON.stringify(plan)],
    ...(plan.restartPolicy && { restartPolicy: plan.restartPolicy }),
    ...(rulesOf(plan).length > 0 && {
      restartPolicyRules: rulesOf(plan).map(({ action = 'Restart', operator, codes }) => ({
        action,
        exitCodes: { operator, values: codes },
      })),
    }),
    ...resourcesOf(pod, plan.name),
    ...(volumeMounts.length > 0 && { volumeMounts }),
    ...(volumeDevices.length > 0 && { volumeDevices }),
    ...probesOf(pod, plan),
    ...lifecycleOf(pod, plan),
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: pod.name, uid: pod.uid },
    spec: {
      restartPolicy: pod.restartPolicy,
      terminationGracePeriodSeconds: pod.graceSeconds,
      ...(pod.hostNetwork && { hostNetwork: true }),
      ...(pod.deadlineSeconds !== undefined && { activeDeadlineSeconds: pod.deadlineSeconds }),
      ...(pod.priority !== undefined && { priority: pod.priority }),
      ...(pod.critical && { priority: CRITICAL_PRIORITY, priorityClassName: 'system-node-critical' }),
      ...(pod.gate && { readinessGates: [{ conditionType: GATE_CONDITION }] }),
      ...(volumes.length > 0 && { volumes }),
      ...(pod.podLevel !== undefined && { resources: podResources(pod.podLevel) }),
      ...(pod.claim !== undefined && { resourceClaims: [{ name: POD_CLAIM, resourceClaimName: claimName(pod) }] }),
      ...(pod.init.length > 0 && { initContainers: pod.init.map(container) }),
      containers: pod.containers.map(container),
    },
  };
}

function lifecycleOf({ uid }: PodPlan, plan: ContainerPlan): object {
  const { name, postStart, preStopSeconds } = plan;
  const lifecycle = {
    ...(postStart && { postStart: postStartOf(uid, name, postStart) }),
    ...(preStopSeconds !== undefined && { preStop: preStopOf(uid, plan, preStopSeconds) }),
  };
  return Object.keys(lifecycle).length === 0 ? {} : { lifecycle };
}

function preStopOf(uid: string, { name, preStopBy }: ContainerPlan, seconds: number): object {
  if (preStopBy === 'exec') return { exec: { command: [PRE_STOP_COMMAND] } };
  if (preStopBy === 'httpGet') return { httpGet: { path: `/${uid}/${name}/preStop`, port: 80 } };
  return { sleep: { seconds } };
}

function postStartOf(uid: string, name: string, { by, runs }: PostStartPlan): object {
  switch (by) {
    case 'exec':
      return { exec: { command: [HOOK_COMMAND] } };
    case 'httpGet':
      return { httpGet: { path: `/${uid}/${name}/postStart`, port: 80 } };
    case 'sleep':
      return { sleep: { seconds: runs[0].takesMs / 1000 } };
  }
}

function resourcesOf({ cpu, devices, whole, claim }: PodPlan, name: string): object {
  const millis = cpu?.[name];
  const own = whole?.[name];
  const asked = [
    ...Object.entries(devices?.[name] ?? {}).map(([resource, count]) => [resource, String(count)]),
    ...(own === undefined ? [] : Object.entries(wholeAmounts(own))),
  ];
  const limits = Object.fromEntries(asked);
  const claims = claim === undefined ? {} : { claims: [{ name: POD_CLAIM }] };
  // The requests equal the limits, as an API server would set them by default.
  if (asked.length > 0) return { resources: { limits, requests: limits, ...claims } };
  if (millis !== undefined) return { resources: { requests: cpuRequest(millis), ...claims } };
  return claim === undefined ? {} : { resources: claims };
}

function podResources(plan: WholePlan): object {
  const amounts = wholeAmounts(plan);
  return { limits: amounts, requests: amounts };
}

/** Returns the resource amounts of a container in a Guaranteed pod, in the API's format. */
export function wholeAmounts({ cpuMillis, memoryMi, hugePages = 0 }: WholePlan): Readonly<Record<string, string>> {
  return {
    ...{ cpu: `${cpuMillis}m`, memory: `${memoryMi}Mi` },
    ...(hugePages > 0 && { 'hugepages-2Mi': `${2 * hugePages}Mi` }),
  };
}

/** Returns a CPU request in the API's format. */
export function cpuRequest(millis: number): { readonly cpu: string } {
  return { cpu: `${millis}m` };
}

/** Returns the claim of a disk of the node and its persistent volume, as API objects. */
export function claimObjects(disk: string, namespace: string): readonly Readonly<Record<string, unknown>>[] {
  const common = { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' };
  const claim = { name: disk, namespace, uid: `${disk}-claim` };
  return [
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: disk, uid: `${disk}-volume` } },
      spec: { ...common, capacity: { storage: '1Gi' }, local: { path: devicePath(disk) }, claimRef: claim },
    },
    {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim },
      spec: { ...common, volumeName: disk },
      status: { phase: 'Bound' },
    },
  ];
}

/** Returns the device path of a disk of the node. */
export function devicePath(disk: string): string {
  return `/dev/${disk}`;
}

/** Returns the name of the inline volume with this number in its pod. */
function inlineName(number: number): string {
  return `inline${number}`;
}

/** Returns an ephemeral container as an API object. */
export function ephemeralObject(plan: ContainerPlan): Readonly<Record<string, unknown>> {
  return { name: plan.name, image: IMAGE, command: [SIMULATED_COMMAND, JSON.stringify(plan)] };
}

/** Returns the request path of a probe, which identifies the container and the kind of probe. */
function probePath(uid: string, container: string, kind: ProbeKind): string {
  return `/${uid}/${container}/${kind}`;
}

const FAILURE_THRESHOLDS: Readonly<Record<ProbeKind, number>> = {
  startup: 1000,
  readiness: READINESS_FAILURE_THRESHOLD,
  liveness: LIVENESS_FAILURE_THRESHOLD,
};

function probesOf({ uid }: PodPlan, { name, probes = {} }: ContainerPlan): object {
  const probe = (kind: ProbeKind): object => {
    const plan = probes[kind];
    if (plan === undefined) return {};
    const failureThreshold = FAILURE_THRESHOLDS[kind];
    const httpGet = { path: probePath(uid, name, kind), port: 80 };
    return { [`${kind}Probe`]: { httpGet, periodSeconds: plan.periodSeconds, failureThreshold } };
  };
  return { ...probe('startup'), ...probe('readiness'), ...probe('liveness') };
}
