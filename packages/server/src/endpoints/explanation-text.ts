/** The maximum nesting depth. Deeper values are printed as JSON. */
const MAX_DEPTH = 12;

/** Formats an explanation for people: one line per fact, indented below its parent. */
export function explanationText(value: unknown): string {
  return `${lines(value, 0).join('\n')}\n`;
}

function lines(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth);
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      if (!isNested(item)) return [`${indent}- ${scalar(item)}`];
      const [first = '', ...rest] = lines(item, depth + 1);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  if (!isNested(value)) return [`${indent}${scalar(value)}`];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (inner === undefined) return [];
    const label = `${indent}${words(name)}:`;
    if (isEmpty(inner)) return [`${label} none`];
    if (!isNested(inner) || depth >= MAX_DEPTH) return [`${label} ${scalar(inner)}`];
    return [label, ...lines(inner, depth + 1)];
  });
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isEmpty(value: unknown): boolean {
  return isNested(value) && Object.keys(value).length === 0;
}

function scalar(value: unknown): string {
  // A string with line breaks or control characters is printed as JSON, on one line.
  if (typeof value === 'string') return /[\p{Cc}]/u.test(value) ? JSON.stringify(value) : value;
  return JSON.stringify(value) ?? String(value);
}

/** Converts `waitingFor` into `waiting for`. */
function words(name: string): string {
  return name.replaceAll(
    /([a-z])([A-Z])/g,
    (_match, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
}
