/** Lists the places in which two values differ, with both values; texts that are JSON are compared as JSON. */
export function differingValues(upstream: unknown, ours: unknown, path = ''): readonly string[] {
  const [theirs, own] = [parsed(upstream), parsed(ours)];
  if (!isObject(theirs) || !isObject(own)) {
    const [left, right] = [JSON.stringify(theirs), JSON.stringify(own)];
    return left === right ? [] : [`${path}: upstream ${left}, ours ${right}`];
  }
  return [...new Set([...Object.keys(theirs), ...Object.keys(own)])].flatMap((name) =>
    differingValues(theirs[name], own[name], path === '' ? name : `${path}.${name}`),
  );
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith('{')) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
