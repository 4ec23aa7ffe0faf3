import { unescaped } from './file-systems.ts';

/** Where containerd, CRI-O and Docker have writable layers: nothing of a path is in what a container writes, so that none of it is a link of its making. */
const LAYER = /^(?:(?:snapshots|overlay2?)\/)?[^/]+\/(?:fs|diff)$/;

/**
 * The directory in which an overlay keeps what is written to it, where an overlay is what a process has as its root: of the text of
 * `/proc/PID/mountinfo` (proc(5)). Who may mount in a container can make it name any directory: only one that is a writable layer
 * beneath `place`, where the runtime has its layers, is told, be it another container's. `undefined` where there is none.
 */
export function upperDirectoryOfRoot(mountinfo: string, place: string): string | undefined {
  const roots = mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [type, , options = ''] = after.split(' ');
    return before.split(' ')[4] === '/' ? [{ type, options }] : [];
  });
  // What was mounted over it later hides it from nobody: a process does not look there for its root.
  const [root] = roots;
  if (root?.type !== 'overlay') return undefined;
  const named = /(?:^|,)upperdir=([^,]*)/.exec(root.options)?.[1] ?? '';
  const path = unescaped(named);
  if (!path.startsWith(`${place}/`) || path.split('/').includes('..')) return undefined;
  return LAYER.test(path.slice(place.length + 1)) ? path : undefined;
}
