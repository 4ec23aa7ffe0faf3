/** Lets requests through one by one: a `TokenBucket` of `@node-agent/async`, or anything of that form. */
export interface RateLimiter {
  /** Waits for the next turn and takes it. @throws the signal's reason; no turn is taken then */
  acquire(signal?: AbortSignal): Promise<void>;
}
