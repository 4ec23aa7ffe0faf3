import { unescaped } from './file-systems.ts';

/**
 * Layer directories of containerd, CRI-O and Docker. Every component of such a path is outside of the container's
 * writable data, so none of them can be a link that the container made.
 */
const LAYER = /^(?:(?:snapshots|overlay2?)\/)?[^/]+\/(?:fs|diff)$/;

/** Matches the mountinfo line of a mount at `/`. */
const AT_ROOT = /^(?:\S+ ){4}\/ /;
/** Matches the part after the optional fields of an overlay's line: type, source and options. */
const UPPER = / - overlay \S+ (?:\S*?,)?upperdir=([^,\s]*)/;

/**
 * Returns the upper directory of the overlay that is a process's root, from the text of `/proc/PID/mountinfo`
 * (proc(5)). A container that may mount can make this text name any directory, so only a writable layer below `place`,
 * the runtime's layer directory, is returned. The layer may be another container's. Returns `undefined` if there is
 * none.
 */
export function upperDirectoryOfRoot(mountinfo: string, place: string): string | undefined {
  // The first mount at `/` counts: a mount that was stacked on it later does not change the process's root.
  const root = mountinfo.split('\n').find((line) => AT_ROOT.test(line));
  const named = root && UPPER.exec(root)?.[1];
  if (!named) return undefined;
  const path = unescaped(named);
  if (!path.startsWith(`${place}/`) || path.split('/').includes('..')) return undefined;
  return LAYER.test(path.slice(place.length + 1)) ? path : undefined;
}
