/** The flags that a program's first line gives to Node, as `#!/usr/bin/env -S node --flag`; none where it gives none. */
export function shebangFlags(program: string): readonly string[] {
  const [, flags = ''] = /^#!\S+ -S node +([^\n]*)/.exec(program) ?? [];
  return flags.split(/\s+/).filter((flag) => flag !== '');
}
