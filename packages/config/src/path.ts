const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the path of a member: `authentication.webhook`, `evictionHard["memory.available"]`, `reservedMemory[0]`. */
export function childPath(parent: string, key: string | number): string {
  if (!PLAIN_KEY.test(String(key))) return `${parent}[${JSON.stringify(key)}]`;
  return parent === '' ? String(key) : `${parent}.${key}`;
}

/** Returns whether a path equals another path or lies within it. */
export function isWithin(path: string, ancestor: string): boolean {
  if (!path.startsWith(ancestor)) return false;
  const next = path[ancestor.length];
  return next === undefined || next === '.' || next === '[' || ancestor === '';
}

/** Returns the parent of a path; empty at the top. */
export function parentPath(path: string): string {
  const bracket = path.endsWith(']') ? path.lastIndexOf(path.endsWith('"]') ? '["' : '[') : -1;
  return path.slice(0, Math.max(bracket, bracket >= 0 ? 0 : path.lastIndexOf('.'), 0));
}
