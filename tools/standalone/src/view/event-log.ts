/** Event about a pod, from the kubelet's log. */
export interface PodEvent {
  readonly atMs: number;
  readonly podUid: string;
  /**
   * Namespace and name, for example `default/web`. Kept in the event because the pod may be gone when the event is
   * shown.
   */
  readonly pod: string;
  /** Container that the event is about. */
  readonly container?: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** Parses a line of the kubelet's log. Returns `undefined` if the line is not an event about a pod. */
export function parseEventLine(line: string): PodEvent | undefined {
  if (!line.includes('"Event occurred"')) return undefined;
  const value = parseObject(line);
  if (value === undefined || value.msg !== 'Event occurred' || value.kind !== 'Pod') return undefined;
  if (typeof value.object !== 'string') return undefined;
  const container = /\{(.+)\}$/.exec(text(value.fieldPath))?.[1];
  return {
    atMs: typeof value.ts === 'number' ? value.ts : Number.NaN,
    podUid: text(value.uid),
    pod: value.object,
    ...(container !== undefined && { container }),
    type: text(value.type),
    reason: text(value.reason),
    message: text(value.message),
  };
}

/** Problem of a manifest (for example `/m/a.yaml:4:1: no`) that has appeared or disappeared. */
export interface ManifestNews {
  readonly problem: string;
  readonly isGone: boolean;
}

/**
 * Parses a log line about a problem of a manifest that has appeared or disappeared. Returns `undefined` for any other
 * line.
 */
export function parseManifestLine(line: string): ManifestNews | undefined {
  const gone = line.includes('"Manifest problem is gone"');
  if (!gone && !line.includes('"Manifest has a problem"')) return undefined;
  const value = parseObject(line);
  return value === undefined ? undefined : { problem: text(value.problem), isGone: gone };
}

/** Parses a log line that says why the kubelet syncs no pods. Returns `undefined` for any other line. */
export function parseNodeLine(line: string): string | undefined {
  if (!line.includes('"Skipping pod synchronization"')) return undefined;
  const errors = parseObject(line)?.errors;
  return Array.isArray(errors) ? errors.map(String).join('; ') : undefined;
}

/** Splits a growing log, which arrives in arbitrary pieces, into lines. */
export class LineSplitter {
  #rest = '';

  /** Adds a piece and returns the lines that it completes. */
  push(piece: string): readonly string[] {
    const lines = `${this.#rest}${piece}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }
}

function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // A line that is not JSON is of another program, or was cut off when the kubelet was killed.
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
