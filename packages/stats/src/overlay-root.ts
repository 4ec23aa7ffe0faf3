import { unescaped } from './file-systems.ts';

/** Where containerd, CRI-O and Docker have writable layers: nothing of a path is in what a container writes, so that none of it is a link of its making. */
const LAYER = /^(?:(?:snapshots|overlay2?)\/)?[^/]+\/(?:fs|diff)$/;

/** The line of a mount at the root. */
const AT_ROOT = /^(?:\S+ ){4}\/ /;
/** What comes after the optional fields of an overlay's line: its type, its source and its options. */
const UPPER = / - overlay \S+ (?:\S*?,)?upperdir=([^,\s]*)/;

/**
 * The directory in which an overlay keeps what is written to it, where an overlay is what a process has as its root: of the text of
 * `/proc/PID/mountinfo` (proc(5)). Who may mount in a container can make it name any directory: only one that is a writable layer
 * beneath `place`, where the runtime has its layers, is told, be it another container's. `undefined` where there is none.
 */
export function upperDirectoryOfRoot(mountinfo: string, place: string): string | undefined {
  // What was mounted over it later hides it from nobody: a process does not look there for its root.
  const root = mountinfo.split('\n').find((line) => AT_ROOT.test(line));
  const named = root && UPPER.exec(root)?.[1];
  if (!named) return undefined;
  const path = unescaped(named);
  if (!path.startsWith(`${place}/`) || path.split('/').includes('..')) return undefined;
  return LAYER.test(path.slice(place.length + 1)) ? path : undefined;
}
