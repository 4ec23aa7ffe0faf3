/** An event of a pod, as the kubelet logs it. */
export interface PodEvent {
  readonly atMs: number;
  readonly podUid: string;
  /** `default/web`; for people who read the event when the pod is gone. */
  readonly pod: string;
  /** The container it is about. */
  readonly container?: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** Reads a line of the kubelet's log; `undefined` where it is no event of a pod. */
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

/** A problem of a manifest, as `/m/a.yaml:4:1: no`, that has come or gone. */
export interface ManifestNews {
  readonly problem: string;
  readonly isGone: boolean;
}

/** Reads what the kubelet logs of a manifest that it cannot use, or can use again; `undefined` for any other line. */
export function parseManifestLine(line: string): ManifestNews | undefined {
  const gone = line.includes('"Manifest problem is gone"');
  if (!gone && !line.includes('"Manifest has a problem"')) return undefined;
  const value = parseObject(line);
  return value === undefined ? undefined : { problem: text(value.problem), isGone: gone };
}

/** Reads why the kubelet syncs no pods; `undefined` for any line that does not say so. */
export function parseNodeLine(line: string): string | undefined {
  if (!line.includes('"Skipping pod synchronization"')) return undefined;
  const errors = parseObject(line)?.errors;
  return Array.isArray(errors) ? errors.map(String).join('; ') : undefined;
}

/** Takes a growing log apart into lines, whatever pieces it arrives in. */
export class LineSplitter {
  #rest = '';

  /** The lines that are complete with this piece. */
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
    return undefined; // Another program's line, or one that was cut off when the kubelet was killed.
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
