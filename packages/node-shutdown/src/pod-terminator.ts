import { AsyncError, abortable, type Clock, sleep, withTimeout } from '@node-agent/async';
import { formatPod, type Pod } from '@node-agent/pod-spec';
import type { Logger } from '@node-agent/telemetry';
import type { PriorityGracePeriod } from './grace-periods.ts';
import { gracePeriodSeconds, groupByPriority, type ShutdownGroup } from './groups.ts';
import type { ShutdownPods, ShutdownVolumes } from './ports.ts';
import { terminatedStatus } from './terminated-status.ts';

interface Components {
  readonly pods: ShutdownPods;
  readonly volumes: ShutdownVolumes;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Interval at which volumes are checked, in milliseconds, as in upstream (`podAttachAndMountRetryInterval` of
 * `pkg/kubelet/volumemanager`).
 */
const VOLUMES_LOOK_MS = 300;

/**
 * Terminates pods group by group, lowest priority first. The next group starts when all pods of a group have terminated
 * and their volumes are unmounted, or when the group's grace period is over. Pods with a higher priority, which may be
 * needed for the unmounting, still run meanwhile.
 */
export class PodTerminator {
  readonly #components: Components;
  readonly #periods: readonly PriorityGracePeriod[];

  constructor(components: Components, periods: readonly PriorityGracePeriod[]) {
    this.#components = components;
    this.#periods = periods.toSorted((a, b) => a.priority - b.priority);
  }

  /**
   * Terminates all groups.
   * @param cancelled aborted if the shutdown is cancelled: the wait ends and no further group is terminated
   * @param signal aborts running kills
   */
  async terminate(pods: readonly Pod[], cancelled: AbortSignal, signal: AbortSignal): Promise<void> {
    for (const group of groupByPriority(this.#periods, pods)) {
      if (cancelled.aborted) return;
      if (group.pods.length > 0) await this.#end(group, cancelled, signal);
    }
  }

  async #end(group: ShutdownGroup, cancelled: AbortSignal, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    const { priority, shutdownGracePeriodSeconds: gracePeriod } = group;
    const kills = Promise.all(group.pods.map((pod) => this.#kill(pod, group, signal)));
    try {
      await withTimeout(
        clock,
        gracePeriod * 1000,
        async (limit) => {
          await abortable(kills, limit);
          await this.#unmounted(group, limit);
        },
        cancelled,
      );
      logger.info({ gracePeriod, priority }, 'Done waiting for all pods in group to terminate');
    } catch (err) {
      if (cancelled.aborted) return;
      if (!AsyncError.is(err) || err.code !== 'Timeout') throw err;
      logger.info({ gracePeriod, priority }, 'Shutdown manager pod killing time out');
    }
  }

  /** Kills a pod. The kill may continue after the group's grace period. */
  async #kill(pod: Pod, group: ShutdownGroup, signal: AbortSignal): Promise<void> {
    const { pods, logger } = this.#components;
    const seconds = gracePeriodSeconds(pod, group);
    logger.info({ pod: formatPod(pod), gracePeriod: seconds }, 'Shutdown manager killing pod with gracePeriod');
    try {
      await pods.kill(pod, { statusFn: terminatedStatus(pod), gracePeriodSeconds: seconds }, signal);
      logger.info({ pod: formatPod(pod) }, 'Shutdown manager finished killing pod');
    } catch (err) {
      logger.info({ pod: formatPod(pod), err }, 'Shutdown manager failed killing pod');
    }
  }

  async #unmounted({ pods }: ShutdownGroup, limit: AbortSignal): Promise<void> {
    const { clock, volumes, logger } = this.#components;
    let left = pods;
    try {
      for (;;) {
        const exist = await abortable(
          Promise.all(left.map(({ metadata }) => volumes.podVolumesExist(metadata.uid))),
          limit,
        );
        left = left.filter((_pod, index) => exist[index]);
        if (left.length === 0) return;
        await sleep(clock, VOLUMES_LOOK_MS, limit);
      }
    } catch (err) {
      const message = 'Failed while waiting for all the volumes belonging to Pods in this group to unmount';
      if (!limit.aborted || AsyncError.is(limit.reason)) logger.error({ err, pods: left.map(formatPod) }, message);
      limit.throwIfAborted();
    }
  }
}
