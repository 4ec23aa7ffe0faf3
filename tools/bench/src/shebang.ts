/** Returns the Node flags in a program's first line, such as `#!/usr/bin/env -S node --flag`. */
export function shebangFlags(program: string): readonly string[] {
  const [, flags = ''] = /^#!\S+ -S node +([^\n]*)/.exec(program) ?? [];
  return flags.split(/\s+/).filter((flag) => flag !== '');
}
