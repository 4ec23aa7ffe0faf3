/** Limits the rate of requests: a `TokenBucket` of `@node-agent/async`, or any object with this method. */
export interface RateLimiter {
  /** Waits for the next token and takes it. @throws the signal's reason; no token is taken then */
  acquire(signal?: AbortSignal): Promise<void>;
}
