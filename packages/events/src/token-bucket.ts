/** How a bucket fills: `qps` tokens a second, up to `burst`. */
export interface TokenRate {
  readonly qps: number;
  readonly burst: number;
}

/** What is in a bucket at an instant of the monotonic clock. May be negative: a debt that is waited for. */
export interface TokenBucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** The bucket at a later instant; one that is not there yet is full. */
export function filled(bucket: TokenBucket | undefined, { qps, burst }: TokenRate, nowMs: number): TokenBucket {
  if (bucket === undefined) return { tokens: burst, atMs: nowMs };
  return { tokens: Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * qps) / 1000), atMs: nowMs };
}

/** Takes a token, on credit where there is none; `waitMs` is how long until the credit is paid. */
export function borrowed(bucket: TokenBucket, { qps }: TokenRate): { bucket: TokenBucket; waitMs: number } {
  const tokens = bucket.tokens - 1;
  return { bucket: { ...bucket, tokens }, waitMs: tokens >= 0 ? 0 : (-tokens / qps) * 1000 };
}
