/**
 * The directory in which an overlay keeps what is written to it, where an overlay is what a process has as its root: of the text of
 * `/proc/PID/mountinfo` (proc(5)). Who may mount in a container can make it name any directory: only one beneath `place`, where the
 * runtime has its layers, is told. `undefined` where there is none.
 */
export function upperDirectoryOfRoot(mountinfo: string, place: string): string | undefined {
  const roots = mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [type, , options = ''] = after.split(' ');
    return before.split(' ')[4] === '/' ? [{ type, options }] : [];
  });
  // What was mounted last hides the others.
  const root = roots.at(-1);
  if (root?.type !== 'overlay') return undefined;
  const named = /(?:^|,)upperdir=([^,]*)/.exec(root.options)?.[1] ?? '';
  // The kernel writes blanks, commas and backslashes in octal.
  const path = named.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return path.startsWith(`${place}/`) && !path.split('/').includes('..') ? path : undefined;
}
