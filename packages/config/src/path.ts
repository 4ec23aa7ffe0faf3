const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The path of a member: `authentication.webhook`, `evictionHard["memory.available"]`, `reservedMemory[0]`. */
export function childPath(parent: string, key: string | number): string {
  if (!PLAIN_KEY.test(String(key))) return `${parent}[${JSON.stringify(key)}]`;
  return parent === '' ? String(key) : `${parent}.${key}`;
}

/** Whether a path is another one's, or lies within it. */
export function isWithin(path: string, ancestor: string): boolean {
  if (!path.startsWith(ancestor)) return false;
  const next = path[ancestor.length];
  return next === undefined || next === '.' || next === '[' || ancestor === '';
}

/** The path that a path lies directly within, or '' at the top. */
export function parentPath(path: string): string {
  const bracket = path.endsWith(']') ? path.lastIndexOf(path.endsWith('"]') ? '["' : '[') : -1;
  return path.slice(0, Math.max(bracket, bracket >= 0 ? 0 : path.lastIndexOf('.'), 0));
}
