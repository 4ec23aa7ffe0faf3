import { CoalescingQueue } from '@node-agent/async';
import { PROBE_KINDS, type ProbeKind, type ProbeResult, type ProbeUpdate } from './types.ts';

/** Current results by kind of probe and container (`pkg/kubelet/prober/results`). */
export class ProbeResults {
  readonly #results: Readonly<Record<ProbeKind, Map<string, ProbeResult>>> = {
    liveness: new Map(),
    readiness: new Map(),
    startup: new Map(),
  };
  readonly #updates = new CoalescingQueue<string, ProbeUpdate>();

  /** Returns the current result of a container, by its runtime ID without a prefix; `undefined` if there is none. */
  liveness(containerId: string): ProbeResult | undefined {
    return this.#results.liveness.get(containerId);
  }

  readiness(containerId: string): ProbeResult | undefined {
    return this.#results.readiness.get(containerId);
  }

  startup(containerId: string): ProbeResult | undefined {
    return this.#results.startup.get(containerId);
  }

  /**
   * Changed results, for one consumer. If a result changes again before it is consumed, only the newest result is
   * delivered.
   */
  get updates(): AsyncIterable<ProbeUpdate> {
    return this.#values();
  }

  /** Number of current results. */
  get size(): number {
    return PROBE_KINDS.reduce((sum, kind) => sum + this.#results[kind].size, 0);
  }

  set(update: ProbeUpdate): void {
    const { kind, containerId, result } = update;
    const results = this.#results[kind];
    if (results.get(containerId) === result) return;
    results.set(containerId, result);
    this.#updates.push(keyOf(kind, containerId), update);
  }

  remove(kind: ProbeKind, containerId: string): void {
    this.#results[kind].delete(containerId);
    this.#updates.delete(keyOf(kind, containerId));
  }

  /** Ends {@link updates}: pending updates are still delivered, later ones are not. */
  close(): void {
    this.#updates.close();
  }

  async *#values(): AsyncGenerator<ProbeUpdate> {
    for await (const [, update] of this.#updates) yield update;
  }
}

function keyOf(kind: ProbeKind, containerId: string): string {
  return `${kind} ${containerId}`;
}
