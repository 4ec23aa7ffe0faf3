/** How long a call may take where nothing else is said, in milliseconds: `runtimeRequestTimeout`'s default. */
export const DEFAULT_TIMEOUT_MS: number = 120_000;

/**
 * How long a call may take, in milliseconds; `undefined` for those that end only when the caller or the runtime ends
 * them. `request.timeout`, where there is one, is in seconds.
 * Source: `k8s.io/cri-client/pkg/remote_runtime.go`, `remote_image.go`.
 */
export function callTimeoutMs(rpc: string, request: unknown, defaultTimeoutMs: number): number | undefined {
  const requestedMs = requestTimeoutSeconds(request) * 1000;
  switch (rpc) {
    case 'RunPodSandbox':
      return 2 * defaultTimeoutMs;
    case 'StopContainer':
      // The grace period first; then the runtime has to kill what is left.
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
