/** The exit codes of `nodectl`. `exec` returns the exit code of its command instead, and `execFailed` for its own failures. */
export const exitCodes = {
  ok: 0,
  /** The kubelet reported an error or sent an unexpected response, or a file could not be read or written. */
  failed: 1,
  usage: 2,
  /** There is no such pod, container or manifest. */
  notFound: 3,
  /** The kubelet could not be reached, or the connection was lost. */
  unreachable: 4,
  /** The kubelet rejected the client certificate or its rights. */
  denied: 5,
  /** A manifest is invalid or conflicts with another one. Nothing was written. */
  invalidManifest: 6,
  /** The option --check found that the node or a pod is not ready. */
  notReady: 7,
  /** `exec` could not run the command, as for `docker exec`. */
  execFailed: 125,
  interrupted: 130,
} as const;
