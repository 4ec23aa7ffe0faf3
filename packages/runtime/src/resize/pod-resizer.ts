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

import { type AppliedResources, adoptedResources, withCpuMemory } from './applied-resources.ts';
import { shrinkingContainers, shrinkProblem } from './memory-shrink.ts';
import { type GroupResources, heldAfter, memoryShrinks, type ResizeStep, resizeSteps } from './resize-steps.ts';

/** The group of a pod, as far as it is resized: package `cm-cgroups`. */
export interface ResizableGroups {
  /** What it is to be held to. @param pod as granted */
  wanted(pod: Pod): GroupResources;
  /** What it is held to. */
  limits(pod: Pod, signal: AbortSignal): Promise<GroupResources>;
  /** Whether it was set to something else last than is wanted now. */
  differs(pod: Pod): boolean;
  update(pod: Pod, signal: AbortSignal, set: GroupResources): Promise<void>;
}

/** Which gates that bear on resizes are on; both where absent. */
export interface ResizeFeatures {
  /** InPlacePodVerticalScalingInitContainers. */
  readonly initContainers?: boolean;
  /** InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel?: boolean;
}

export interface PodResizerComponents {
  readonly cri: Pick<RuntimeService, 'updateContainerResources' | 'updatePodSandboxResources' | 'podSandboxStats'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly metrics: Pick<RuntimeMetrics, 'resizeMs'>;
  readonly applied: AppliedResources;
  readonly groups: ResizableGroups | undefined;
  readonly settings: ResourceSettings;
  readonly features: ResizeFeatures;
}

/** Makes running pods as large as they were granted (`doPodResizeAction` in `pkg/kubelet/kuberuntime/kuberuntime_manager.go`). */
export class PodResizer {
  readonly #components: PodResizerComponents;
  readonly #features: Required<ResizeFeatures>;
  /** A runtime that has no UpdatePodSandboxResources is not asked again. */
  #tellsSandbox = true;

  constructor(components: PodResizerComponents) {
    this.#components = components;
    this.#features = { initContainers: true, podLevel: true, ...components.features };
  }

  /** What the rules look at. */
  context(pod: Pod): ResizeContext {
    const { applied, groups } = this.#components;
    return { applied, ...this.#features, groupDiffers: groups?.differs(pod) ?? false };
  }

  /** Notes what runs of a pod of which nothing is known: another kubelet has started it. @throws the file system's error */
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
    // Its group is made, or was set, as the pod was granted: there is nothing of it that could be read back.
    const { resources } = pod.spec;
    const isSet = Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0;
    if (resources !== undefined && isSet && applied.appliedToPod(uid) === undefined) {
      await applied.podApplied(uid, resources);
    }
  }

  /** Whether there is anything to do. */
  isDue({ containersToUpdate, updatePodResources, updatePodLevelResources }: PodActions): boolean {
    const { memory, cpu } = containersToUpdate;
    return memory.length + cpu.length > 0 || updatePodResources || updatePodLevelResources;
  }

  /** @returns why it could not be done to its end; what was done stays, and the next sync goes on. Throws for an abort alone. */
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
    // In a sandbox that is yet to be made nobody uses anything.
    if (shrinks && !actions.createSandbox) await this.#checkUsage(pod, actions.sandboxId, shrinking, signal);
    const plan = { updates, updatePodResources, updatePodLevelResources, ...(group && { group }) };
    const steps = resizeSteps(plan);
    if (group && steps.some(({ kind }) => kind === 'group') && !actions.createSandbox) {
      await this.#tellSandbox(pod, actions.sandboxId, heldAfter(group.held, steps), signal);
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

  /** One resource of one container: the other is told as it is by now. */
  async #update(
    pod: Pod,
    { id, container, type, current, desired }: ContainerUpdate,
    resource: ResizedResource,
    done: Map<string, CpuMemory>,
    signal: AbortSignal,
  ): Promise<void> {
    const { cri, applied, settings } = this.#components;
    const has = done.get(id) ?? current;
    const { memoryLimitBytes, memoryRequestBytes, cpuLimitMilli, cpuRequestMilli } = desired;
    const gets =
      resource === 'memory'
        ? { ...has, memoryLimitBytes, memoryRequestBytes }
        : { ...has, cpuLimitMilli, cpuRequestMilli };
    const resources = withCpuMemory(container.resources, gets);
    const linux = containerResources(pod, { ...container, resources }, type, settings);
    await cri.updateContainerResources({ containerId: id, linux }, signal);
    await applied.containerApplied(pod.metadata.uid, container.name, resources);
    done.set(id, gets);
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
   * The runtime may have a say in what the pod as a whole gets (KEP-1287, UpdatePodSandboxResources): it is told before anything is
   * changed, of what is to be. Upstream tells it of each step, of what is by then.
   */
  async #tellSandbox(pod: Pod, sandboxId: string, group: GroupResources, signal: AbortSignal): Promise<void> {
    const { cri, settings, logger } = this.#components;
    if (!this.#tellsSandbox) return;
    try {
      const told = resizedSandboxResources(pod, group, settings);
      await cri.updatePodSandboxResources({ podSandboxId: sandboxId, ...told }, signal);
    } catch (err) {
      const error = CriError.from(err);
      // containerd 2.2 says UNKNOWN, "not implemented yet" (containerd#13023).
      if (error.code !== 'UNIMPLEMENTED' && !error.message.includes('not implemented')) {
        const message = `failed to notify runtime for UpdatePodSandboxResources; resize rejected: ${error.message}`;
        throw new Error(message, { cause: err });
      }
      this.#tellsSandbox = false;
      logger.debug({ err }, 'The runtime has no UpdatePodSandboxResources');
    }
  }
}

/** The pod's own resources, with one of them as granted. */
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
