import type { Node } from './node.ts';

/**
 * Returns a message if a registered node belongs to another machine, because the provider IDs differ. Returns
 * `undefined` if the IDs are equal or one is missing.
 */
export function registrationConflict(existing: Node, own: Node): string | undefined {
  const [theirs, ours] = [existing.spec?.providerID ?? '', own.spec?.providerID ?? ''];
  if (theirs === '' || ours === '' || theirs === ours) return undefined;
  return `the node has the provider ID ${JSON.stringify(theirs)}, this machine has ${JSON.stringify(ours)}`;
}

/**
 * Returns a message if a second kubelet must be writing to this node: its machine, firmware or boot ID differs from
 * what this kubelet wrote. Empty IDs are ignored.
 *
 * @param written the node after this kubelet's last write
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
