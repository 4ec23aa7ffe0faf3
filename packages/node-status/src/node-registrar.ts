import { type Clock, sleep, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { reasonOf } from './errors.ts';
import { registrationConflict } from './identity.ts';
import type { Node } from './node.ts';
import { nodePatch } from './node-patch.ts';
import type { NodeClient } from './ports.ts';
import { reconcileNode } from './reconcile-node.ts';

/** The result of a registration. */
export interface Registration {
  readonly node: Node;
  /** Whether the node was created, because it did not exist before. */
  readonly created: boolean;
  /**
   * Whether the node may have been created by an earlier attempt whose response was lost. The API server then reports
   * that the node exists.
   */
  readonly mayBeNew: boolean;
  /** The reason why the existing node belongs to another machine. Absent if there is no sign of that. */
  readonly conflict?: string | undefined;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 7_000;

/** Creates the node, or adopts the existing node with that name (`kubelet_node_status.go`, registerWithAPIServer). */
export class NodeRegistrar {
  readonly #nodes: NodeClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: {
    readonly requestTimeoutMs: number;
    readonly resetExtendedResources: () => boolean | Promise<boolean>;
  };

  constructor(
    components: { readonly nodes: NodeClient; readonly clock: Clock; readonly logger: Logger },
    options: { readonly requestTimeoutMs: number; readonly resetExtendedResources: () => boolean | Promise<boolean> },
  ) {
    this.#nodes = components.nodes;
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#options = options;
  }

  /**
   * Registers the node. Retries until this succeeds, after 100 ms, doubling up to 7 s.
   * @param makeNode returns the node for this attempt
   * @throws the signal's reason
   */
  async register(makeNode: (signal: AbortSignal) => Promise<Node>, signal: AbortSignal): Promise<Registration> {
    let mayBeNew = false;
    const onUnsure = (): void => {
      mayBeNew = true;
    };
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
      try {
        const registration = { ...(await this.#try(await makeNode(signal), onUnsure, signal)), mayBeNew };
        this.#logger.info(
          { node: registration.node.metadata.name, created: registration.created },
          'Successfully registered node',
        );
        return registration;
      } catch (error) {
        signal.throwIfAborted();
        this.#logger.error({ err: error, retryInMs: delayMs }, 'Unable to register node with API server');
      }
      await sleep(this.#clock, delayMs, signal);
    }
  }

  async #try(node: Node, onUnsure: () => void, signal: AbortSignal): Promise<Omit<Registration, 'mayBeNew'>> {
    const name = node.metadata.name ?? '';
    try {
      return { node: await this.#call((limit) => this.#nodes.createNode(node, limit), signal), created: true };
    } catch (error) {
      // The kubelet may be forbidden to create nodes because an administrator creates them, so the node is then read.
      if (!['AlreadyExists', 'Forbidden'].includes(reasonOf(error) ?? '')) {
        onUnsure();
        throw error;
      }
    }
    const existing = await this.#call((limit) => this.#nodes.getNode(name, { fresh: true }, limit), signal);
    this.#logger.info({ node: name }, 'Node was previously registered');
    const reset = await this.#options.resetExtendedResources();
    const patch = nodePatch(existing, reconcileNode(node, existing, reset));
    const reconciled =
      patch === undefined
        ? existing
        : await this.#call((limit) => this.#nodes.patchNodeStatus(name, patch, limit), signal);
    return { node: reconciled, created: false, conflict: registrationConflict(existing, node) };
  }

  #call<T>(request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return withTimeout(this.#clock, this.#options.requestTimeoutMs, request, signal);
  }
}
