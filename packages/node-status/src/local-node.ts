import { type Clock, checkComponents } from '@node-agent/async';
import { type Logger, withDefaults } from '@node-agent/telemetry';
import { initialNode } from './initial-node.ts';
import type { Node } from './node.ts';
import { NodeFactCollector, type NodeFactSources } from './node-facts.ts';
import { type NodeStatusOptions, type NodeStatusSettings, settingsOf } from './options.ts';
import { setNodeStatus } from './set-node-status.ts';

/** The components of a {@link LocalNode}. */
export interface LocalNodeComponents {
  readonly sources: NodeFactSources;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

/**
 * Describes this node as a Node object without an API server, by the same rules as `NodeStatusManager`. A condition's
 * transition time is the time of the {@link read} that first saw its status.
 */
export class LocalNode {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settings: NodeStatusSettings;
  readonly #facts: NodeFactCollector;
  #node: Node;

  /** @throws RangeError that names the invalid option */
  constructor(given: LocalNodeComponents, options: NodeStatusOptions) {
    checkComponents('LocalNode', given, {
      sources: ['machine', 'network', 'runtimeVersion', 'images', 'readiness'],
    });
    const components = withDefaults(given);
    this.#clock = components.clock;
    this.#logger = components.logger;
    this.#settings = settingsOf(options);
    this.#facts = new NodeFactCollector(components, { patienceMs: this.#settings.factPatienceMs });
    this.#node = initialNode(this.#settings);
  }

  /**
   * Returns the Node as it is now. Slow or failing sources keep their previous values.
   * @throws the signal's reason
   */
  async read(signal: AbortSignal): Promise<Node> {
    const facts = await this.#facts.collect(signal);
    const { node, problems } = setNodeStatus(this.#node, facts, this.#settings, this.#clock.now());
    for (const problem of problems) this.#logger.error({ err: problem }, 'Failed to set some node status fields');
    this.#node = node;
    return node;
  }
}
