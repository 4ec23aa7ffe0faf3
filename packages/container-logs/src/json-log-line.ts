import { type CriLogHeader, parseTimestamp } from './cri-log-line.ts';

const OPEN_BRACE = 0x7b;

/** Docker splits output at 16 KiB, and each byte takes at most six bytes in JSON. */
export const MAX_JSON_LINE_BYTES: number = 128 * 1024;

/** A line of a log file in Docker's format. */
export interface JsonLogLine extends Pick<CriLogHeader, 'timeMs' | 'timestamp' | 'stream'> {
  /** Output of the container. Ends with a newline, unless Docker split a long output line over several lines of the file. */
  readonly content: Uint8Array;
}

/** Returns whether a line may be in Docker's format. */
export function looksLikeJson(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_BRACE;
}

/**
 * Parses a line in Docker's format, `{"log":"content\n","stream":"stdout","time":"..."}`, as cri-dockerd stores
 * container logs. Returns `undefined` if the line has another format (`parseDockerJSONLog`,
 * `k8s.io/cri-client/pkg/logs`).
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
    // Spreading a value that is not an object yields none of the needed fields.
    return { ...JSON.parse(new TextDecoder().decode(line)) };
  } catch {
    return undefined;
  }
}
