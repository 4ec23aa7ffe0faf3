import type { Reflector } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';

/** An address of the node, as `status.addresses` has it. */
export interface ReportedAddress {
  readonly type: string;
  readonly address: string;
}

/** Who wants to hear of the node as the API server has it, whoever wrote it. */
export interface NodeListener {
  /** Called with its addresses, whenever they may be others. */
  readonly onAddresses: ((addresses: readonly ReportedAddress[]) => void) | undefined;
  /** Called when the cluster no longer knows how the node is: nothing was heard of it for too long. */
  readonly onUnknown: () => void;
}

/** Tells of each change of the node until `signal` is aborted. */
export async function followNode(
  node: Pick<Reflector<Node>, 'changes'>,
  { onAddresses, onUnknown }: NodeListener,
  signal: AbortSignal,
): Promise<void> {
  using changes = node.changes();
  try {
    for (let change = await changes.take(signal); change !== undefined; change = await changes.take(signal)) {
      // A node that was deleted is registered again: its addresses are what they were.
      if (change.type !== 'changed') continue;
      const { addresses = [], conditions = [] } = change.object.status ?? {};
      onAddresses?.(addresses);
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown')) onUnknown();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
