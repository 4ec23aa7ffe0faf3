import type { Reflector } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';

/** An address of the node in the format of `status.addresses`. */
export interface ReportedAddress {
  readonly type: string;
  readonly address: string;
}

/** Callbacks for changes of the Node object by any client of the API server. */
export interface NodeListener {
  /** Called with the node's addresses after each change of the Node object. */
  readonly onAddresses: ((addresses: readonly ReportedAddress[]) => void) | undefined;
  /** Called when the Ready condition is Unknown, because the cluster has received no heartbeat for too long. */
  readonly onUnknown: () => void;
  /** Called after each change of the Node object. */
  readonly onNode: () => void;
}

/** Reports each change of the Node object until `signal` is aborted. */
export async function followNode(
  node: Pick<Reflector<Node>, 'changes'>,
  { onAddresses, onUnknown, onNode }: NodeListener,
  signal: AbortSignal,
): Promise<void> {
  using changes = node.changes();
  try {
    for (let change = await changes.take(signal); change !== undefined; change = await changes.take(signal)) {
      // A deletion is ignored, because a deleted node is registered again with the same addresses.
      if (change.type !== 'changed') continue;
      const { addresses = [], conditions = [] } = change.object.status ?? {};
      onAddresses?.(addresses);
      onNode();
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'Unknown')) onUnknown();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
