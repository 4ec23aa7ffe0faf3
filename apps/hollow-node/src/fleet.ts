import { type Clock, linkAbort, Semaphore, sleep, TaskGroup, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import type { NodePlan } from './node-plan.ts';

/** A node that runs until its signal is aborted. */
interface RunnableNode {
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when the node is Ready. */
  ready(signal: AbortSignal): Promise<void>;
}

/** Components of a {@link Fleet}. */
export interface FleetComponents<N extends RunnableNode> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly make: (plan: NodePlan) => N;
}

/**
 * Greatest number of nodes that may be starting at the same time. With this limit, nodes start more slowly if the
 * machine or the API server cannot keep up with the start rate. Without the limit, all nodes would time out together,
 * and running nodes would miss their heartbeats.
 */
const MOST_STARTING = 50;
/** Time in ms after which a starting node that is not Ready no longer delays the start of other nodes. */
const START_TIMEOUT_MS = 60_000;
/** Delay in ms before a node that failed is started again, as a service manager would do. */
const RESTART_MS = 10_000;

/**
 * Many nodes in one process. They start one after another, and only some at a time, so that their registrations and,
 * from then on, their heartbeats are spread. A node that fails is started again and affects no other node.
 */
export class Fleet<N extends RunnableNode = RunnableNode> {
  readonly #components: FleetComponents<N>;
  readonly #nodes = new Map<string, { readonly node: N; readonly remove: () => Promise<void> }>();

  constructor(components: FleetComponents<N>) {
    this.#components = components;
  }

  /** The running nodes by name. */
  get nodes(): ReadonlyMap<string, N> {
    return new Map([...this.#nodes].map(([name, { node }]) => [name, node]));
  }

  /**
   * Starts the nodes and runs them until `signal` is aborted.
   * @param ratePerSecond greatest number of nodes that are started per second
   * @param onStarted called when all nodes have been started
   */
  async run(
    plans: readonly NodePlan[],
    ratePerSecond: number,
    signal: AbortSignal,
    onStarted: () => void = () => {},
  ): Promise<void> {
    const group = new TaskGroup(signal);
    const starting = new Semaphore(MOST_STARTING);
    group.add(async (ending) => {
      for (const plan of plans) {
        const permit = await starting.acquire(ending);
        group.add((until) => this.#keep(plan, until));
        group.add((until) => this.#untilStarted(plan.name, permit, until));
        await sleep(this.#components.clock, 1000 / ratePerSecond, ending);
      }
      onStarted();
    });
    await group.ended();
  }

  /** Starts a node and runs it until it is removed or `signal` is aborted. @throws the error with which the node failed */
  async add(plan: NodePlan, signal: AbortSignal): Promise<void> {
    using link = linkAbort(signal);
    const node = this.#components.make(plan);
    const running = node.run(link.signal);
    const remove = async (): Promise<void> => {
      link.abort(new Error('the node was removed'));
      await running.catch(() => undefined);
    };
    this.#nodes.set(plan.name, { node, remove });
    try {
      await running;
    } finally {
      this.#nodes.delete(plan.name);
    }
  }

  /** Stops a node, as a power loss does: the node's containers end, and its objects remain in the API server. */
  async remove(name: string): Promise<void> {
    await this.#nodes.get(name)?.remove();
  }

  /** Releases the permit to start when the node is Ready, has failed, or has taken too long. */
  async #untilStarted(name: string, permit: Disposable, signal: AbortSignal): Promise<void> {
    using _permit = permit;
    const { clock, logger } = this.#components;
    const node = this.#nodes.get(name)?.node;
    await withTimeout(clock, START_TIMEOUT_MS, async (limit) => node?.ready(limit), signal).catch((err: unknown) => {
      if (!signal.aborted) logger.warn({ err, node: name }, 'A node did not become Ready; starting further nodes');
    });
  }

  /** Runs a node, and starts it again after a failure. */
  async #keep(plan: NodePlan, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    while (!signal.aborted) {
      try {
        await this.add(plan, signal);
        return;
      } catch (err) {
        if (signal.aborted) return;
        logger.error({ err, node: plan.name }, 'A node failed; starting it again');
      }
      await sleep(clock, RESTART_MS, signal);
    }
  }
}
