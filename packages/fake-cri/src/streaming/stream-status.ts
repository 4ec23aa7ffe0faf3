/** Outcome of a command, as sent to the client: the used fields of `metav1.Status`. */
export interface StreamStatus {
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
  readonly code?: number;
}

/** Returns the status of a command that has exited. */
export function exitStatus(command: readonly string[], exitCode: number): StreamStatus {
  if (exitCode === 0) return { status: 'Success' };
  const cause = `error executing command [${command.join(' ')}], exit code ${exitCode}`;
  return {
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${cause}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

/** Returns the status of a request that failed. */
export function failedStatus(words: string): StreamStatus {
  return { status: 'Failure', message: `Internal error occurred: ${words}`, reason: 'InternalError', code: 500 };
}

/** Formats a status: as JSON if the protocol transmits status objects, else as its message only. */
export function statusText(status: StreamStatus, tellsExitCode: boolean): string {
  if (tellsExitCode) return JSON.stringify(status);
  return status.status === 'Success' ? '' : (status.message ?? '');
}

/** Returns the exit code in a status. Returns `undefined` if the command did not run to its end. */
export function exitCodeOf({ status, reason, details }: StreamStatus): number | undefined {
  if (status === 'Success') return 0;
  if (reason !== 'NonZeroExitCode') return undefined;
  const told = details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  return told === undefined ? undefined : Number(told);
}
