/** Default deadline of a call, in milliseconds: the default of `runtimeRequestTimeout`. */
export const DEFAULT_TIMEOUT_MS: number = 120_000;

/**
 * Returns the deadline of a call, in milliseconds, or `undefined` for a call that only the caller or the runtime ends.
 * `request.timeout`, if the RPC has that field, is in seconds.
 * Source: `k8s.io/cri-client/pkg/remote_runtime.go`, `remote_image.go`.
 */
export function callTimeoutMs(rpc: string, request: unknown, defaultTimeoutMs: number): number | undefined {
  const requestedMs = requestTimeoutSeconds(request) * 1000;
  switch (rpc) {
    case 'RunPodSandbox':
      return 2 * defaultTimeoutMs;
    case 'StopContainer':
      // The runtime waits for the requested grace period, and then needs time to kill the remaining processes.
      return requestedMs + defaultTimeoutMs;
    case 'ExecSync':
      return requestedMs === 0 ? undefined : requestedMs + defaultTimeoutMs;
    case 'CheckpointContainer':
      return Math.max(requestedMs, defaultTimeoutMs);
    case 'PullImage':
    case 'GetContainerEvents':
      return undefined;
    default:
      return defaultTimeoutMs;
  }
}

function requestTimeoutSeconds(request: unknown): number {
  if (typeof request !== 'object' || request === null || !('timeout' in request)) return 0;
  return typeof request.timeout === 'number' ? request.timeout : 0;
}
