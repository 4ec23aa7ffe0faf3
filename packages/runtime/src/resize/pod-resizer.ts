import type { Clock } from '@node-agent/async';
import type { SyncFailure } from '@node-agent/contracts';
import { CriError, type RuntimeService } from '@node-agent/cri-client';
import {
  allContainers,
  type CpuMemory,
  formatPod,
  isResizable,
  type Pod,
  type ResourceRequirements,
  type RuntimePodStatus,
} from '@node-agent/pod-spec';
import { errorText, type Logger } from '@node-agent/telemetry';
import { currentStatus } from '../actions/current-status.ts';
import type { PodActions } from '../actions/pod-actions.ts';
import type { ContainerUpdate, ResizeContext, ResizedResource } from '../actions/resize-actions.ts';
import { containerResources, resizedSandboxResources } from '../config/container-resources.ts';
import type { ResourceSettings } from '../config/resource-settings.ts';
import type { RuntimeMetrics } from '../metrics.ts';
import type { ContainerPlacements } from '../ports.ts';

import { type AppliedResources, adoptedResources, withCpuMemory } from './applied-resources.ts';
import { shrinkingContainers, shrinkProblem } from './memory-shrink.ts';
import { type GroupResources, groupAfter, memoryShrinks, type ResizeStep, resizeSteps } from './resize-steps.ts';

/** Pod cgroups, for resizes. Implemented by package `cm-cgroups`. */
export interface ResizableGroups {
  /**
   * Returns the desired values of the pod's cgroup.
   * @param pod the pod with its allocated resources
   */
  wanted(pod: Pod): GroupResources;
  /** Returns the current values of the pod's cgroup. */
  limits(pod: Pod, signal: AbortSignal): Promise<GroupResources>;
  /** Returns whether the values last set in the pod's cgroup differ from the desired ones. */
  differs(pod: Pod): boolean;
  update(pod: Pod, signal: AbortSignal, set: GroupResources): Promise<void>;
}

/** Feature gates that affect resizes. Default: all enabled. */
export interface ResizeFeatures {
  /** Feature gate InPlacePodVerticalScalingInitContainers. */
  readonly initContainers?: boolean;
  /** Feature gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel?: boolean;
}

export interface PodResizerComponents {
  readonly cri: Pick<RuntimeService, 'updateContainerResources' | 'updatePodSandboxResources' | 'podSandboxStats'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics: Pick<RuntimeMetrics, 'resizeMs'>;
  readonly applied: AppliedResources;
  readonly groups: ResizableGroups | undefined;
  readonly placements?: ContainerPlacements | undefined;
  readonly settings: ResourceSettings;
  readonly features: ResizeFeatures;
}

/**
 * Resizes running pods to their allocation (`doPodResizeAction` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`).
 */
export class PodResizer {
  readonly #components: PodResizerComponents;
  readonly #features: Required<ResizeFeatures>;
  /**
   * Whether the runtime may support UpdatePodSandboxResources. After the runtime has answered that it does not
   * implement the call, the call is not repeated.
   */
  #reportsToSandbox = true;

  constructor(components: PodResizerComponents) {
    this.#components = components;
    this.#features = { initContainers: true, podLevel: true, ...components.features };
  }

  /** Returns the inputs of the resize rules. */
  context(pod: Pod): ResizeContext {
    const { applied, groups } = this.#components;
    return { applied, ...this.#features, groupDiffers: groups?.differs(pod) ?? false };
  }

  /**
   * Records the resources of running containers that another kubelet started.
   * @throws the errors of the file system
   */
  async adopt(pod: Pod, status: RuntimePodStatus): Promise<void> {
    const { applied, settings } = this.#components;
    const { uid } = pod.metadata;
    for (const { container, type } of allContainers(pod)) {
      const running = currentStatus(status.containers, container.name);
      if (running?.state !== 'running' || !isResizable(type, this.#features)) continue;
      if (applied.appliedToContainer(uid, container.name) !== undefined) continue;
      const resources = 'resources' in container ? { resources: container.resources } : {};
      const adopted = adoptedResources(pod, resources as object, running.resources, settings.cpuCfsQuotaPeriodUs);
      await applied.containerApplied(uid, container.name, adopted);
    }
    // Pod-level resources cannot be read back; the cgroup was created or set according to the allocation.
    const { resources } = pod.spec;
    const isSet = Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0;
    if (resources !== undefined && isSet && applied.appliedToPod(uid) === undefined) {
      await applied.podApplied(uid, resources);
    }
  }

  /** Returns whether any resize action is due. */
  isDue({ containersToUpdate, updatePodResources, updatePodLevelResources }: PodActions): boolean {
    const { memory, cpu } = containersToUpdate;
    return memory.length + cpu.length > 0 || updatePodResources || updatePodLevelResources;
  }

  /**
   * Performs the resize.
   * @returns the failure if the resize is incomplete; completed steps stay, and the next sync continues. Throws only on
   * abort
   */
  async resize(pod: Pod, actions: PodActions, signal: AbortSignal): Promise<SyncFailure | undefined> {
    const { clock, metrics, logger } = this.#components;
    const startedAtMs = clock.monotonic();
    let failure: SyncFailure | undefined;
    try {
      await this.#resize(pod, actions, signal);
    } catch (err) {
      signal.throwIfAborted();
      failure = { reason: 'ResizePodInPlaceError', message: errorText(err) };
      logger.warn({ podUid: pod.metadata.uid, pod: pod.metadata.name, err }, 'Pod resize failed');
    }
    metrics.resizeMs.observe({ success: String(failure === undefined) }, clock.monotonic() - startedAtMs);
    return failure;
  }

  async #resize(pod: Pod, actions: PodActions, signal: AbortSignal): Promise<void> {
    const { groups } = this.#components;
    const { containersToUpdate: updates, updatePodResources, updatePodLevelResources } = actions;
    const group = groups && { held: await groups.limits(pod, signal), wanted: groups.wanted(pod) };
    const shrinking = {
      containers: shrinkingContainers(updates.memory),
      ...(group && memoryShrinks(group.held, group.wanted) && { podBytes: group.wanted.memoryBytes ?? 0 }),
    };
    const shrinks = shrinking.containers.size > 0 || 'podBytes' in shrinking;
    // The usage is not checked if the sandbox is not created yet, because no process uses memory then.
    if (shrinks && !actions.createSandbox) await this.#checkUsage(pod, actions.sandboxId, shrinking, signal);
    const plan = { updates, updatePodResources, updatePodLevelResources, ...(group && { group }) };
    const steps = resizeSteps(plan);
    if (group && steps.some(({ kind }) => kind === 'group') && !actions.createSandbox) {
      await this.#reportToSandbox(pod, actions.sandboxId, groupAfter(group.held, steps), signal);
    }
    const done = new Map<string, CpuMemory>();
    for (const step of steps) {
      signal.throwIfAborted();
      await this.#take(step, pod, updates, done, signal);
    }
  }

  async #take(
    step: ResizeStep,
    pod: Pod,
    updates: PodActions['containersToUpdate'],
    done: Map<string, CpuMemory>,
    signal: AbortSignal,
  ): Promise<void> {
    const { groups, applied } = this.#components;
    const { uid } = pod.metadata;
    switch (step.kind) {
      case 'group':
        await groups?.update(pod, signal, step.set);
        return;
      case 'containers':
        for (const update of updates[step.resource]) await this.#update(pod, update, step.resource, done, signal);
        return;
      case 'podLevel':
        await applied.podApplied(uid, mergedResource(applied.appliedToPod(uid), pod.spec.resources, step.resource));
        return;
    }
  }

  /** Updates one resource of one container; the request repeats the current value of the other resource. */
  async #update(
    pod: Pod,
    { id, container, type, current, desired }: ContainerUpdate,
    resource: ResizedResource,
    done: Map<string, CpuMemory>,
    signal: AbortSignal,
  ): Promise<void> {
    const { cri, applied, settings, placements } = this.#components;
    const before = done.get(id) ?? current;
    const { memoryLimitBytes, memoryRequestBytes, cpuLimitMilli, cpuRequestMilli } = desired;
    const after =
      resource === 'memory'
        ? { ...before, memoryLimitBytes, memoryRequestBytes }
        : { ...before, cpuLimitMilli, cpuRequestMilli };
    const resources = withCpuMemory(container.resources, after);
    const isExclusive = placements?.placementOf(pod, container).hasExclusiveCpus;
    const linux = containerResources(pod, { ...container, resources }, type, settings, isExclusive);
    await cri.updateContainerResources({ containerId: id, linux }, signal);
    await applied.containerApplied(pod.metadata.uid, container.name, resources);
    done.set(id, after);
  }

  async #checkUsage(
    pod: Pod,
    sandboxId: string,
    shrinking: Parameters<typeof shrinkProblem>[0],
    signal: AbortSignal,
  ): Promise<void> {
    let stats: Awaited<ReturnType<RuntimeService['podSandboxStats']>>['stats'];
    try {
      ({ stats } = await this.#components.cri.podSandboxStats({ podSandboxId: sandboxId }, signal));
    } catch (err) {
      throw new Error(`unable to read memory usage for pod ${JSON.stringify(formatPod(pod))}`, { cause: err });
    }
    const problem =
      stats === null
        ? `unable to read memory usage for pod ${JSON.stringify(formatPod(pod))}`
        : shrinkProblem(shrinking, stats);
    if (problem !== undefined) throw new Error(problem);
  }

  /**
   * Notifies the runtime of the target values, because it may reject them (KEP-1287, UpdatePodSandboxResources); called
   * before anything is changed. Upstream notifies the runtime at each step, with the values of that step.
   */
  async #reportToSandbox(pod: Pod, sandboxId: string, group: GroupResources, signal: AbortSignal): Promise<void> {
    const { cri, settings, logger } = this.#components;
    if (!this.#reportsToSandbox) return;
    try {
      const resources = resizedSandboxResources(pod, group, settings);
      await cri.updatePodSandboxResources({ podSandboxId: sandboxId, ...resources }, signal);
    } catch (err) {
      const error = CriError.from(err);
      // containerd 2.2 responds with UNKNOWN, "not implemented yet" (containerd#13023).
      if (error.code !== 'UNIMPLEMENTED' && !error.message.includes('not implemented')) {
        const message = `failed to notify runtime for UpdatePodSandboxResources; resize rejected: ${error.message}`;
        throw new Error(message, { cause: err });
      }
      this.#reportsToSandbox = false;
      logger.debug({ err }, 'Runtime does not implement UpdatePodSandboxResources');
    }
  }
}

/** Returns the pod-level resources `before` with the amounts of one resource replaced by those in `granted`. */
function mergedResource(
  before: ResourceRequirements | undefined,
  granted: ResourceRequirements | undefined,
  resource: ResizedResource,
): ResourceRequirements {
  const list = (side: 'requests' | 'limits'): Readonly<Record<string, string>> => {
    const { [resource]: _old, ...others } = before?.[side] ?? {};
    const amount = granted?.[side]?.[resource];
    return { ...others, ...(amount !== undefined && { [resource]: amount }) };
  };
  return { requests: list('requests'), limits: list('limits') };
}
