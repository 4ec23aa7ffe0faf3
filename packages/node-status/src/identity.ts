import type { Node } from './node.ts';

/**
 * Why a node that is registered already is another machine's: the provider IDs of the two differ. `undefined` where nothing says so.
 */
export function registrationConflict(existing: Node, own: Node): string | undefined {
  const [theirs, ours] = [existing.spec?.providerID ?? '', own.spec?.providerID ?? ''];
  if (theirs === '' || ours === '' || theirs === ours) return undefined;
  return `the node has the provider ID ${JSON.stringify(theirs)}, this machine has ${JSON.stringify(ours)}`;
}

/**
 * Why a second kubelet must be writing to this node: it shows another machine, firmware or boot than this kubelet wrote there. What
 * is empty on either side says nothing.
 *
 * @param written the node as this kubelet's last write left it
 */
export function foreignWriter(written: Node, seen: Node): string | undefined {
  const [ours, theirs] = [written.status?.nodeInfo, seen.status?.nodeInfo];
  const fields = (['machineID', 'systemUUID', 'bootID'] as const).filter(
    (field) => (ours?.[field] ?? '') !== '' && (theirs?.[field] ?? '') !== '' && ours?.[field] !== theirs?.[field],
  );
  if (fields.length > 0) {
    const shown = fields.map((field) => `${field} ${theirs?.[field]} instead of ${ours?.[field]}`).join(', ');
    return `another kubelet writes the status of this node: it shows ${shown}`;
  }
  return registrationConflict(seen, written);
}
