/** The result of a command: the used fields of `metav1.Status`, in Go's order. */
export interface CommandStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason?: string; readonly message: string }[] };
  readonly code?: number;
}

const SUCCESS: CommandStatus = { metadata: {}, status: 'Success' };
/** How much of a status that cannot be parsed is quoted, in characters. */
const MAX_QUOTED = 1024;

/** Creates the status of a failure outside the runtime (`NewInternalError`, `k8s.io/apimachinery/pkg/api/errors`). */
export function failedCommand(words: string): CommandStatus {
  return {
    ...{ metadata: {}, status: 'Failure', message: `Internal error occurred: ${words}`, reason: 'InternalError' },
    ...{ details: { causes: [{ message: words }] }, code: 500 },
  };
}

/**
 * Converts the content of the runtime's error stream into the status for the client. Exit codes and messages are
 * upstream's (`errorDecoderV4` and `V2`, `k8s.io/client-go/tools/remotecommand`; `streamtranslator.go`). Difference: a
 * runtime that disconnects without a status counts as a failure.
 * @param protocol the protocol negotiated with the runtime; from v4 on there is always a status
 */
export function commandStatus(protocol: string, said: string): CommandStatus {
  if (!/^v[45]\./.test(protocol)) {
    return said === '' ? SUCCESS : failedCommand(`error executing remote command: ${said}`);
  }
  if (said === '') return failedCommand('error reading from error stream: the runtime ended the connection');
  let told: unknown;
  try {
    told = JSON.parse(said);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return nonsense(`${fault} in ${JSON.stringify(said.slice(0, MAX_QUOTED))}`);
  }
  const { status, message, reason, details } = fieldsOf(told);
  if (status === 'Success') return SUCCESS;
  if (status !== 'Failure') return nonsense('unknown error');
  if (reason !== 'NonZeroExitCode') return failedCommand(typeof message === 'string' ? message : '');
  if (details === undefined || details === null) return nonsense('details must be set');
  const { causes } = fieldsOf(details);
  const cause = Array.isArray(causes) && causes.map(fieldsOf).find((each) => each.reason === 'ExitCode');
  return cause ? exited(cause.message) : nonsense('no ExitCode cause given');
}

function exited(code: unknown): CommandStatus {
  const isCode = typeof code === 'string' && /^\d+$/.test(code) && Number(code) < 256;
  if (!isCode) return nonsense(`invalid exit code value ${JSON.stringify(code ?? '')}`);
  const exitCode = String(Number(code));
  const words = `command terminated with exit code ${exitCode}`;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${words}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: exitCode }] },
  };
}

function nonsense(fault: string): CommandStatus {
  return failedCommand(`error stream protocol error: ${fault}`);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
