import { type Clock, linkAbort, Semaphore, sleep } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { Ledger } from './ledger.ts';
import { mayRun, type ResourceContainers, type ResourcePods, type RunningPodContainer } from './ports.ts';

/** Dependencies of a {@link CpusetReconciler}. */
interface ReconcilerParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ledger: Ledger;
  readonly pods: ResourcePods;
  readonly containers: ResourceContainers | undefined;
  /** Frees the resources of pods that are gone. */
  readonly freeGone: () => void;
}

/** Maximum number of concurrent calls of the runtime. */
const MAX_UPDATES = 8;

/** Interval in ms of the passes while a container starts that was created with other CPUs than it must have now. */
const START_LOOK_MS = 1000;

/**
 * Maximum time in ms from the request to start a container until the runtime must show the container as running. A start
 * may take as long as the runtime's request timeout, whose default this is.
 */
const MAX_START_MS = 120_000;

/**
 * Keeps the CPUs of running containers as they were allocated: when CPUs become exclusive or free, the CPUs that all
 * other containers share change (`reconcileState`, `pkg/kubelet/cm/cpumanager/cpu_manager.go`). Reconciles after each
 * change and once per period.
 */
export class CpusetReconciler {
  readonly #parts: ReconcilerParts;
  /** CPUs that the runtime last set for each running or starting container, by container id. */
  readonly #applied = new Map<string, string>();
  /**
   * Containers that were about to start and have not been seen running since, by container id. They are not updated yet,
   * because an update may have no effect while the runtime starts the container.
   */
  readonly #starting = new Map<string, { readonly container: RunningPodContainer; readonly untilMs: number }>();
  readonly #updating = new Set<string>();
  readonly #calls = new Semaphore(MAX_UPDATES);
  #isDue = false;
  #wake: (() => void) | undefined;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** Reconciles until the signal is aborted. */
  async run(periodMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#isDue = false;
      this.#parts.freeGone();
      this.#reconcile(signal);
      await this.#pause(this.#startsOutdated() ? Math.min(START_LOOK_MS, periodMs) : periodMs, signal);
    }
  }

  /** Makes {@link run} reconcile now, because exclusive or shared CPUs have changed. */
  kick(): void {
    this.#isDue = true;
    this.#wake?.();
  }

  /**
   * Records that a container is about to start. If its CPUs change before it is seen running, it is updated soon after.
   * @param cpus the CPUs with which the container was created
   */
  starting(container: RunningPodContainer, cpus: string): void {
    const { clock, containers } = this.#parts;
    if (containers === undefined) return;
    this.#applied.set(container.id, cpus);
    this.#starting.set(container.id, { container, untilMs: clock.monotonic() + MAX_START_MS });
    if (this.#cpusOf(container) !== cpus) this.kick();
  }

  /** Returns whether a container starts that was created with other CPUs than it must have now. */
  #startsOutdated(): boolean {
    return [...this.#starting].some(([id, { container }]) => this.#cpusOf(container) !== this.#applied.get(id));
  }

  async #pause(periodMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isDue) return;
    using link = linkAbort(signal);
    this.#wake = () => link.abort(new Error('CPUs have changed'));
    await sleep(this.#parts.clock, periodMs, link.signal).catch(() => {});
    this.#wake = undefined;
  }

  /**
   * Starts the updates of containers whose CPUs in the runtime differ from the allocated ones. A container whose last
   * update is still in progress is skipped: if its CPUs have changed since, the end of that update causes another pass.
   */
  #reconcile(signal: AbortSignal): void {
    const running = new Set<string>();
    for (const container of this.#running()) {
      const { id } = container;
      running.add(id);
      const cpus = this.#cpusOf(container);
      if (cpus === '' || cpus === this.#applied.get(id) || this.#updating.has(id)) continue;
      void this.#update(container, cpus, signal);
    }
    this.#forgetEnded(running);
  }

  /** Yields the running containers of all pods, also of pods that are not active. */
  *#running(): Generator<RunningPodContainer> {
    const { pods, containers } = this.#parts;
    if (containers === undefined) return;
    const active = new Set<string>();
    for (const pod of pods.active()) {
      const podUid = pod.metadata.uid;
      active.add(podUid);
      for (const { name, id } of containers.running(pod)) yield { podUid, name, id };
    }
    for (const container of containers.runningInOtherPods?.(active) ?? []) {
      // When a pod has terminated, its CPUs are free, but the list may still show its containers as running.
      if (mayRun(pods, container.podUid)) yield container;
    }
  }

  /** @param running ids of the running containers */
  #forgetEnded(running: ReadonlySet<string>): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const [id, { untilMs }] of this.#starting) {
      if (running.has(id) || untilMs <= nowMs) this.#starting.delete(id);
    }
    for (const id of this.#applied.keys()) {
      if (!running.has(id) && !this.#starting.has(id)) this.#applied.delete(id);
    }
  }

  /** Returns the CPUs on which a container must run; empty if the container is not restricted. */
  #cpusOf({ podUid, name }: RunningPodContainer): string {
    return `${this.#parts.ledger.cpusOf(podUid, name)}`;
  }

  async #update(container: RunningPodContainer, cpus: string, signal: AbortSignal): Promise<void> {
    const { containers, logger } = this.#parts;
    const { id: containerId } = container;
    this.#updating.add(containerId);
    try {
      await this.#calls.run(async () => await containers?.updateContainerCpuset(containerId, cpus, signal), signal);
      this.#applied.set(containerId, cpus);
    } catch (err) {
      // The runtime may have set the CPUs although the call failed, so the next pass sets them again in any case.
      this.#applied.delete(containerId);
      if (!signal.aborted) logger.error({ err, containerId, cpuSet: cpus }, 'Failed to update container');
    } finally {
      this.#updating.delete(containerId);
      if (this.#cpusOf(container) !== cpus) this.kick();
    }
  }
}
