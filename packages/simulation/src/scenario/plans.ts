import type { ClaimPlan } from './claim-plans.ts';
import type { WholePlan } from './numa-plans.ts';
import type { CsiVolumePlan } from './volume-plans.ts';

/** Behaviour of one run of a container. */
export interface RunPlan {
  /** Time from start to exit. Default: the container runs until it is stopped. */
  readonly exitAfterMs?: number;
  /** Exit code of the run. Default: 0. */
  readonly exitCode?: number;
}

/** A rule of `restartPolicyRules` (KEP-5307, KEP-5532). */
export interface RestartRulePlan {
  /** Action if this is the first rule that matches the exit code. Default: `Restart`. */
  readonly action?: 'Restart' | 'RestartAllContainers';
  readonly operator: 'In' | 'NotIn';
  readonly codes: readonly number[];
}

/** Behaviour of one execution of a `postStart` hook. */
export interface HookRunPlan {
  /** Duration of the hook. A hanging exec or request is represented by a duration longer than any wait. */
  readonly takesMs: number;
  /** If true, the command exits with 1, or the request is refused. A sleep cannot fail. */
  readonly fails?: boolean;
}

/** The `postStart` hook of a container. */
export interface PostStartPlan {
  readonly by: 'exec' | 'httpGet' | 'sleep';
  /**
   * Behaviour by attempt. The last entry applies to all later attempts. For a sleep hook, the first entry defines the
   * duration, in whole seconds.
   */
  readonly runs: readonly [HookRunPlan, ...HookRunPlan[]];
}

/** Results of one of a container's probes, as a function of time. */
export interface ProbePlan {
  readonly periodSeconds: number;
  /** Time after the start from which probes succeed. */
  readonly wellAfterMs: number;
  /**
   * Every n-th probe after `wellAfterMs` fails, which is too rare to reach the failure threshold. Default: no probe
   * fails after that time.
   */
  readonly everyNthFails?: number;
  /** If true, probes fail as soon as the container is requested to stop, because the container drains. */
  readonly drains?: boolean;
  /** If true, the container never responds to the probe. */
  readonly hangs?: boolean;
  /**
   * Time after the start from which probes fail, in the first `illRuns` runs. Default: probes do not fail after some
   * time.
   */
  readonly illAfterMs?: number;
  readonly illRuns?: number;
}

/** The probes of a container, by kind. */
export type ProbePlans = Readonly<Partial<Record<ProbeKind, ProbePlan>>>;
export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** A container of a simulated pod: its spec and the behaviour of its processes. */
export interface ContainerPlan {
  readonly name: string;
  /** Behaviour by attempt. The last entry applies to all later attempts. */
  readonly runs: readonly RunPlan[];
  readonly ignoreTerm?: boolean;
  /** Time for which the container keeps running after SIGTERM. */
  readonly stopDelayMs?: number;
  /** Exit code after SIGTERM. Default: 143. */
  readonly termExitCode?: number;
  /** Duration of StartContainer. */
  readonly startDelayMs?: number;
  /** The container's own restart policy. `Always` makes an init container a sidecar. */
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  /** Exit codes for which the container is restarted regardless of its policy. */
  readonly restartRule?: RestartRulePlan;
  /** Additional rules, after `restartRule`. */
  readonly restartRules?: readonly RestartRulePlan[];
  readonly probes?: ProbePlans;
  readonly postStart?: PostStartPlan;
  /** Duration of the `preStop` hook, in seconds. */
  readonly preStopSeconds?: number;
  /** Type of the `preStop` hook. Default: sleep. */
  readonly preStopBy?: 'exec' | 'httpGet';
  /** If true, the container's image takes a long time to pull. */
  readonly slowImage?: boolean;
  /** A change of this number changes only the container's spec. */
  readonly version: number;
}

/** A secret or a config map of the API. */
export interface ObjectPlan {
  readonly kind: 'secret' | 'configMap';
  readonly name: string;
}

/** Requested CPU by container name, in thousandths of a CPU. */
export type CpuPlan = Readonly<Record<string, number>>;

/** A simulated pod, as data. */
export interface PodPlan {
  readonly name: string;
  readonly uid: string;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly graceSeconds: number;
  readonly hostNetwork?: boolean;
  readonly emptyDir?: boolean;
  /** If true, the pod mounts a directory of a foreign file system that may hang. */
  readonly foreign?: boolean;
  /**
   * If true, the pod has a readiness gate whose condition is set by another component. Static pods never have readiness
   * gates.
   */
  readonly gate?: boolean;
  /** Secrets and config maps that the pod's containers mount. Static pods never mount them. */
  readonly objects?: readonly (ObjectPlan & { readonly optional: boolean })[];
  /** Disks of the node that the pod's containers mount through claims. Static pods never use claims. */
  readonly disks?: readonly string[];
  /** Volumes of CSI drivers that the pod's containers use through claims. Static pods never use claims. */
  readonly csi?: readonly CsiVolumePlan[];
  /** Drivers whose inline volumes the pod's containers use. Static pods never use inline volumes. */
  readonly inlineCsi?: readonly string[];
  /**
   * Initial CPU requests of the pod's main containers. CPU requests are not part of the hash of the container specs.
   */
  readonly cpu?: CpuPlan;
  /** ResourceClaim that the pod's containers use. Static pods never use a ResourceClaim. */
  readonly claim?: ClaimPlan;
  /**
   * Resources of the pod's containers, by container name, which make the pod Guaranteed. All containers have resources,
   * unless the pod has pod-level resources.
   */
  readonly whole?: Readonly<Record<string, WholePlan>>;
  /** Resources of the pod as a whole, which make the pod Guaranteed. `whole` is then also set. */
  readonly podLevel?: WholePlan;
  /** Requested devices, by container name and resource. */
  readonly devices?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /**
   * If true, the pod is node-critical. Only set for pods of the API, because pods from manifests are always critical.
   */
  readonly critical?: boolean;
  /** Value of `activeDeadlineSeconds`: the pod fails after it has run for this time. */
  readonly deadlineSeconds?: number;
  /** Priority. Default: 0, unless the pod is critical. */
  readonly priority?: number;
  readonly init: readonly ContainerPlan[];
  readonly containers: readonly ContainerPlan[];
}

/** Returns the restart policy that applies to a container. */
export function restartPolicyOf(pod: PodPlan, container: ContainerPlan): 'Always' | 'OnFailure' | 'Never' {
  return container.restartPolicy ?? pod.restartPolicy;
}

/** Reports whether an init container is a sidecar. */
export function isSidecar(pod: PodPlan, name: string): boolean {
  return pod.init.some((container) => container.name === name && container.restartPolicy === 'Always');
}

/** Returns the behaviour of the `postStart` hook of an attempt, or `undefined` if the container has no hook. */
export function hookOf({ postStart }: ContainerPlan, attempt: number): HookRunPlan | undefined {
  return postStart?.runs[Math.min(attempt, postStart.runs.length - 1)];
}

/** Returns the maximum total duration of a pod's hooks when they run one after another. */
export function longestHooksMs(pod: PodPlan): number {
  const longestMs = ({ postStart }: ContainerPlan): number =>
    Math.max(0, ...(postStart?.runs ?? []).map(({ takesMs }) => takesMs));
  return [...pod.init, ...pod.containers].reduce((sum, plan) => sum + longestMs(plan), 0);
}

/** Exit of a container, as far as restarts depend on it. */
export interface Ended {
  readonly exitCode?: number | undefined;
  /** Whether one of its processes was killed for out-of-memory. */
  readonly oomKilled?: boolean;
}

/**
 * Reports whether a container has failed. An init container also fails with exit code 0 if one of its processes was
 * killed for out-of-memory.
 */
export function hasFailed(pod: PodPlan, name: string, { exitCode = 0, oomKilled = false }: Ended): boolean {
  const isInit = pod.init.some((container) => container.name === name) && !isSidecar(pod, name);
  return exitCode !== 0 || (isInit && oomKilled);
}

/** Returns the restart rules of a container in order. */
export function rulesOf({ restartRule, restartRules = [] }: ContainerPlan): readonly RestartRulePlan[] {
  return restartRule === undefined ? restartRules : [restartRule, ...restartRules];
}

/** Returns the restart rule that applies to an exit, or `undefined` if the restart policy decides. */
function ruleFor(container: ContainerPlan, { exitCode = 0 }: Ended): RestartRulePlan | undefined {
  return rulesOf(container).find(({ operator, codes }) => codes.includes(exitCode) === (operator === 'In'));
}

/** Reports whether a container's exit must restart all containers of its pod. */
export function restartsAll(container: ContainerPlan, ended: Ended): boolean {
  return ruleFor(container, ended)?.action === 'RestartAllContainers';
}

/**
 * Reports whether a container must be restarted after this exit. The rule is implemented independently of the tested
 * code.
 */
export function mayRestart(pod: PodPlan, container: ContainerPlan, ended: Ended): boolean {
  if (ruleFor(container, ended) !== undefined) return true;
  const policy = restartPolicyOf(pod, container);
  return policy === 'Always' || (policy === 'OnFailure' && hasFailed(pod, container.name, ended));
}

/**
 * Returns the time after which a run of a container permanently fails its liveness probe; `Infinity` if it never does.
 */
export function illAfterMs({ probes }: ContainerPlan, attempt: number): number {
  const { illAfterMs: afterMs, illRuns = 0 } = probes?.liveness ?? {};
  return afterMs === undefined || attempt >= illRuns ? Number.POSITIVE_INFINITY : afterMs;
}

/** Returns a container's plan by name. */
export function findPlan(pod: PodPlan | undefined, name: string): ContainerPlan | undefined {
  return pod === undefined ? undefined : [...pod.init, ...pod.containers].find((plan) => plan.name === name);
}
