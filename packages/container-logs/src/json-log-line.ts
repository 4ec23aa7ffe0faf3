import { type CriLogHeader, parseTimestamp } from './cri-log-line.ts';

const OPEN_BRACE = 0x7b;

/** Docker cuts what a container writes at 16 KiB, of which each byte takes six at most. */
export const MAX_JSON_LINE_BYTES: number = 128 * 1024;

/** A line of a log in Docker's format. */
export interface JsonLogLine extends Pick<CriLogHeader, 'timeMs' | 'timestamp' | 'stream'> {
  /** As the container wrote it: it ends with a newline, but where the line goes on in the next one. */
  readonly content: Uint8Array;
}

/** Whether a line may be in Docker's format. */
export function looksLikeJson(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_BRACE;
}

/**
 * Reads a line in Docker's format, `{"log":"content\n","stream":"stdout","time":"..."}`, as cri-dockerd leaves the log of a container;
 * `undefined` where it is none (`parseDockerJSONLog`, `k8s.io/cri-client/pkg/logs`).
 */
export function parseJsonLogLine(line: Uint8Array): JsonLogLine | undefined {
  const entry = object(line);
  if (entry === undefined) return undefined;
  const { log = '', stream, time } = entry;
  if (typeof log !== 'string' || typeof time !== 'string' || (stream !== 'stdout' && stream !== 'stderr')) {
    return undefined;
  }
  const at = parseTimestamp(time);
  return at && { ...at, stream, content: Buffer.from(log) };
}

function object(line: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    // Of what is no object nothing is left that counts.
    return { ...JSON.parse(new TextDecoder().decode(line)) };
  } catch {
    return undefined;
  }
}
