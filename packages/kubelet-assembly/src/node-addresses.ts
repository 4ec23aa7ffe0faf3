import type { Reflector } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';

/** An address of the node, as `status.addresses` has it. */
export interface ReportedAddress {
  readonly type: string;
  readonly address: string;
}

/** Reports the addresses that the node has in the API server, whoever wrote them, until `signal` is aborted. */
export async function followAddresses(
  node: Pick<Reflector<Node>, 'changes'>,
  report: (addresses: readonly ReportedAddress[]) => void,
  signal: AbortSignal,
): Promise<void> {
  using changes = node.changes();
  try {
    for (let change = await changes.take(signal); change !== undefined; change = await changes.take(signal)) {
      // A node that was deleted is registered again: its addresses are what they were.
      if (change.type === 'changed') report(change.object.status?.addresses ?? []);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
