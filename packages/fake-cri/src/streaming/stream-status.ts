/** How a command ended, as its client is told: `metav1.Status`, as far as it is used. */
export interface StreamStatus {
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
  readonly code?: number;
}

/** Of a command that ran to its end. */
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

/** Of what could not be done. */
export function failedStatus(words: string): StreamStatus {
  return { status: 'Failure', message: `Internal error occurred: ${words}`, reason: 'InternalError', code: 500 };
}

/** As it is written where the protocol has statuses, and where it has words alone. */
export function statusText(status: StreamStatus, tellsExitCode: boolean): string {
  if (tellsExitCode) return JSON.stringify(status);
  return status.status === 'Success' ? '' : (status.message ?? '');
}

/** The exit code that a status tells of; `undefined` where the command did not run to its end. */
export function exitCodeOf({ status, reason, details }: StreamStatus): number | undefined {
  if (status === 'Success') return 0;
  if (reason !== 'NonZeroExitCode') return undefined;
  const told = details?.causes?.find((cause) => cause.reason === 'ExitCode')?.message;
  return told === undefined ? undefined : Number(told);
}
