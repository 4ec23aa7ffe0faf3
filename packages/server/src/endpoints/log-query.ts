/** The requested part of a container's log (`PodLogOptions`). Numbers are limited to safe integers. */
export interface ContainerLogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceSeconds?: number;
  /** Time of the oldest requested line, in RFC 3339. */
  readonly sinceTime?: string;
  /** The stream whose output is requested. Default: both streams. */
  readonly stream?: 'stdout' | 'stderr';
}

/** The parsed query, or the status and message of the rejection. */
export type LogQuery =
  | { readonly options: ContainerLogOptions }
  | { readonly options?: undefined; readonly status: number; readonly message: string };

const UNDECODABLE = { status: 400, message: '{"message": "Unable to decode query."}' } as const;
const INVALID = { status: 422, message: '{"message": "Invalid request."}' } as const;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const NUMBERS = ['tailLines', 'limitBytes', 'sinceSeconds'] as const;
const MAX_INT64 = 2n ** 63n - 1n;

/**
 * Parses the query of `/containerLogs` (`getContainerLogs`, `pkg/kubelet/server/server.go`; `ValidatePodLogOptions`).
 * If a parameter is repeated, the first value counts.
 * @param splitStreams the feature gate PodLogsQuerySplitStreams: whether a single stream can be requested
 */
export function parseLogQuery(query: URLSearchParams, splitStreams: boolean): LogQuery {
  const numbers: Partial<Record<(typeof NUMBERS)[number], number>> = {};
  for (const name of NUMBERS) {
    const value = given(query, name);
    if (value === undefined) continue;
    const number = int64(value);
    if (number === undefined) return UNDECODABLE;
    numbers[name] = number;
  }
  // Older clients send `null` for an unset time.
  const since = query.get('sinceTime') ?? '';
  const sinceTime = since === 'null' ? '' : since.replace(',', '.');
  if (sinceTime !== '' && (!RFC3339.test(sinceTime) || Number.isNaN(Date.parse(sinceTime)))) return UNDECODABLE;

  const { tailLines, limitBytes, sinceSeconds } = numbers;
  const stream = query.get('stream') ?? 'All';
  if (tailLines !== undefined && tailLines < 0) return INVALID;
  if (limitBytes !== undefined && limitBytes < 1) return INVALID;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || query.has('sinceTime'))) return INVALID;
  if (!['All', 'Stdout', 'Stderr'].includes(stream)) return INVALID;
  if (stream !== 'All' && tailLines !== undefined) return INVALID;
  if (stream !== 'All' && !splitStreams) {
    const message = `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`;
    return { status: 400, message };
  }
  return {
    options: {
      follow: isTrue(query.get('follow')),
      previous: isTrue(query.get('previous')),
      timestamps: isTrue(query.get('timestamps')),
      ...numbers,
      ...(sinceTime !== '' && { sinceTime }),
      ...(stream === 'Stdout' && { stream: 'stdout' }),
      ...(stream === 'Stderr' && { stream: 'stderr' }),
    },
  };
}

/**
 * Returns a parameter of the query as text. `tail` is the former name of `tailLines`; its value `all` means no limit.
 */
function given(query: URLSearchParams, name: (typeof NUMBERS)[number]): string | undefined {
  const old = name === 'tailLines' ? query.get('tail') : null;
  if (old) return old === 'all' ? undefined : old;
  return query.get(name) ?? undefined;
}

/** Parses a 64-bit integer. Values beyond JavaScript's safe integers are clamped. */
function int64(text: string): number | undefined {
  if (!/^[+-]?\d{1,30}$/.test(text)) return undefined;
  const value = BigInt(text);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) return undefined;
  return Math.max(Math.min(Number(value), Number.MAX_SAFE_INTEGER), Number.MIN_SAFE_INTEGER);
}

/**
 * Converts a query parameter to a boolean as the API does: a present parameter is true unless its value is `false` or
 * `0`.
 */
function isTrue(value: string | null): boolean {
  return value !== null && !['false', '0'].includes(value.toLowerCase());
}
