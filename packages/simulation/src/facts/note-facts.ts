import type { Observation } from '../observation.ts';
import { ROOT_DIRECTORY } from '../world/world.ts';

const PODS_DIRECTORY = `${ROOT_DIRECTORY}/pods`;
/**
 * Time after a fault by which a kubelet has written the notes about stopped containers that the fault prevented. The
 * time is longer than the time between two syncs of a pod.
 */
const REWRITTEN_MS = 90_000;
const READS: ReadonlySet<string> = new Set(['readdir', 'read', 'stat', 'watch']);

/**
 * Containers that a kubelet stopped without being able to record the reason in the pod's directory. The reason is lost
 * when that kubelet ends. If the container exited with code 0, nothing then shows that the container must be restarted.
 */
export class NoteFacts {
  /** Time until which the directories of pods cannot be written. */
  #faultUntilMs = -1;
  readonly #unwritten = new Set<string>();
  readonly #lost = new Set<string>();

  /** Reports whether the reason for the stop of a container was lost with the kubelet that stopped it. */
  isLost(containerId: string): boolean {
    return this.#lost.has(containerId);
  }

  observe(observation: Observation): void {
    const { atMs } = observation;
    if (observation.kind === 'action' && observation.action.do === 'fileFault') {
      const { path, operation = 'write', forMs } = observation.action;
      const isOfPods = `${PODS_DIRECTORY}/`.startsWith(`${path}/`);
      if (isOfPods && !READS.has(operation)) this.#faultUntilMs = Math.max(this.#faultUntilMs, atMs + forMs);
    }
    if (observation.kind === 'call' && observation.call.name === 'stopContainer' && atMs <= this.#faultUntilMs) {
      const { containerId = '' } = (observation.call.args[0] ?? {}) as { readonly containerId?: string };
      this.#unwritten.add(containerId);
    }
    if (observation.kind === 'kubeletEnded') {
      if (atMs <= this.#faultUntilMs + REWRITTEN_MS) for (const id of this.#unwritten) this.#lost.add(id);
      this.#unwritten.clear();
    }
  }
}
