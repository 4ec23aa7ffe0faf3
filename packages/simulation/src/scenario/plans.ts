/** What one run of a container does. */
export interface RunPlan {
  /** Exits by itself so long after its start; never where absent. */
  readonly exitAfterMs?: number;
  /** 0 where absent. */
  readonly exitCode?: number;
}

/** A rule of `restartPolicyRules` (KEP-5307, KEP-5532). */
export interface RestartRulePlan {
  /** What is done by an exit code for which it is the first that holds; `Restart` where absent. */
  readonly action?: 'Restart' | 'RestartAllContainers';
  readonly operator: 'In' | 'NotIn';
  readonly codes: readonly number[];
}

/** How a `postStart` hook goes. */
export interface HookRunPlan {
  /** How long it takes; an exec or a request that is to hang takes longer than anybody waits. */
  readonly takesMs: number;
  /** Its command exits with 1, or nobody answers its request; a sleep cannot fail. */
  readonly fails?: boolean;
}

/** The `postStart` hook of a container. */
export interface PostStartPlan {
  readonly by: 'exec' | 'httpGet' | 'sleep';
  /** How it goes with each attempt; the last one stands for all that follow. A sleep is as long as the first says, in whole seconds. */
  readonly runs: readonly [HookRunPlan, ...HookRunPlan[]];
}

/** What a container answers to one of its probes. */
export interface ProbePlan {
  readonly periodSeconds: number;
  /** Probes are answered well once it has run for so long. */
  readonly wellAfterMs: number;
  /** Of those after that each one of this number is answered badly: fewer in a row than it takes to count. */
  readonly everyNthFails?: number;
  /** Probes are answered badly from when the container is told to stop: it drains. */
  readonly drains?: boolean;
  /** It never answers. */
  readonly hangs?: boolean;
  /** Probes are answered badly once it has run for so long, in its first `illRuns` runs; never if absent. */
  readonly illAfterMs?: number;
  readonly illRuns?: number;
}

/** The probes of a container, by their kind. */
export type ProbePlans = Readonly<Partial<Record<ProbeKind, ProbePlan>>>;
export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** A container of a simulated pod: its spec, and what its processes do. */
export interface ContainerPlan {
  readonly name: string;
  /** What each attempt does; the last one stands for all that follow. */
  readonly runs: readonly RunPlan[];
  readonly ignoreTerm?: boolean;
  /** How long it goes on after SIGTERM. */
  readonly stopDelayMs?: number;
  /** What it exits with after SIGTERM; 143 if absent. */
  readonly termExitCode?: number;
  /** How long StartContainer takes. */
  readonly startDelayMs?: number;
  /** The container's own policy: `Always` makes an init container a sidecar. */
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  /** Exit codes for which it is restarted whatever the policy. */
  readonly restartRule?: RestartRulePlan;
  /** Further rules, after that one. */
  readonly restartRules?: readonly RestartRulePlan[];
  readonly probes?: ProbePlans;
  readonly postStart?: PostStartPlan;
  /** Its `preStop` hook takes so long. */
  readonly preStopSeconds?: number;
  /** What that hook does; it sleeps where absent. */
  readonly preStopBy?: 'exec' | 'httpGet';
  /** Its image is slow to pull. */
  readonly slowImage?: boolean;
  /** Changing it changes the container's spec, and nothing else. */
  readonly version: number;
}

/** A secret or a config map of the API. */
export interface ObjectPlan {
  readonly kind: 'secret' | 'configMap';
  readonly name: string;
}

/** The CPU that containers ask for, by their names, in thousandths of one. */
export type CpuPlan = Readonly<Record<string, number>>;

/** A simulated pod, as data. */
export interface PodPlan {
  readonly name: string;
  readonly uid: string;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly graceSeconds: number;
  readonly hostNetwork?: boolean;
  readonly emptyDir?: boolean;
  /** Mounts a directory of a file system that may hang. */
  readonly foreign?: boolean;
  /** Has a readiness gate, whose condition somebody else sets; for pods of the API. */
  readonly gate?: boolean;
  /** What its containers have mounted; for pods of the API. */
  readonly objects?: readonly (ObjectPlan & { readonly optional: boolean })[];
  /** The disks of the node that its containers have mounted, by claims; for pods of the API. */
  readonly disks?: readonly string[];
  /** What its main containers ask for when it begins; no part of their specs' hash. */
  readonly cpu?: CpuPlan;
  /** The devices that its containers ask for: by their names, and by resource. */
  readonly devices?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The node must not lose it; for pods of the API: those of manifests always are. */
  readonly critical?: boolean;
  /** It has failed when it has run for so long. */
  readonly deadlineSeconds?: number;
  /** 0 where absent, and it is not critical. */
  readonly priority?: number;
  readonly init: readonly ContainerPlan[];
  readonly containers: readonly ContainerPlan[];
}

/** The policy that holds for a container. */
export function restartPolicyOf(pod: PodPlan, container: ContainerPlan): 'Always' | 'OnFailure' | 'Never' {
  return container.restartPolicy ?? pod.restartPolicy;
}

/** Whether an init container stays up beside the main ones. */
export function isSidecar(pod: PodPlan, name: string): boolean {
  return pod.init.some((container) => container.name === name && container.restartPolicy === 'Always');
}

/** How the `postStart` hook of an attempt goes; `undefined` where the container has none. */
export function hookOf({ postStart }: ContainerPlan, attempt: number): HookRunPlan | undefined {
  return postStart?.runs[Math.min(attempt, postStart.runs.length - 1)];
}

/** How long the hooks of a pod take at most, when one of them comes after another. */
export function longestHooksMs(pod: PodPlan): number {
  const longestMs = ({ postStart }: ContainerPlan): number =>
    Math.max(0, ...(postStart?.runs ?? []).map(({ takesMs }) => takesMs));
  return [...pod.init, ...pod.containers].reduce((sum, plan) => sum + longestMs(plan), 0);
}

/** How a container ended, as far as restarts depend on it. */
export interface Ended {
  readonly exitCode?: number | undefined;
  /** Whether a process of it was killed for its memory. */
  readonly oomKilled?: boolean;
}

/** Whether a container has not done its work: an init container of which a process was killed for its memory has not, exit code 0 or not. */
export function hasFailed(pod: PodPlan, name: string, { exitCode = 0, oomKilled = false }: Ended): boolean {
  const isInit = pod.init.some((container) => container.name === name) && !isSidecar(pod, name);
  return exitCode !== 0 || (isInit && oomKilled);
}

/** The rules of a container, in their order. */
export function rulesOf({ restartRule, restartRules = [] }: ContainerPlan): readonly RestartRulePlan[] {
  return restartRule === undefined ? restartRules : [restartRule, ...restartRules];
}

/** The rule that decides about a container that ended so; `undefined` where its policy does. */
function ruleFor(container: ContainerPlan, { exitCode = 0 }: Ended): RestartRulePlan | undefined {
  return rulesOf(container).find(({ operator, codes }) => codes.includes(exitCode) === (operator === 'In'));
}

/** Whether all containers of its pod are to begin anew when a container ended so. */
export function restartsAll(container: ContainerPlan, ended: Ended): boolean {
  return ruleFor(container, ended)?.action === 'RestartAllContainers';
}

/** Whether a container that ended so is to run again: written anew here, not asked of what is tested. */
export function mayRestart(pod: PodPlan, container: ContainerPlan, ended: Ended): boolean {
  if (ruleFor(container, ended) !== undefined) return true;
  const policy = restartPolicyOf(pod, container);
  return policy === 'Always' || (policy === 'OnFailure' && hasFailed(pod, container.name, ended));
}

/** After how long a run of a container fails its liveness probe for good; infinite if never. */
export function illAfterMs({ probes }: ContainerPlan, attempt: number): number {
  const { illAfterMs: afterMs, illRuns = 0 } = probes?.liveness ?? {};
  return afterMs === undefined || attempt >= illRuns ? Number.POSITIVE_INFINITY : afterMs;
}

/** A container's plan in its pod. */
export function findPlan(pod: PodPlan | undefined, name: string): ContainerPlan | undefined {
  return pod === undefined ? undefined : [...pod.init, ...pod.containers].find((plan) => plan.name === name);
}
