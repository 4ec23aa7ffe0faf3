import { appendFile } from 'node:fs/promises';

/** Line of the call log. */
export interface LoggedCall {
  /** Time of the call in ms since 1970. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly rpc: string;
  /** Request of the call. Secrets are replaced by their keys. */
  readonly request: Readonly<Record<string, unknown>>;
  /** `OK` or the gRPC code of the failure. */
  readonly code: string;
  /** Details of the failure. */
  readonly details?: string;
}

/** Returns a request for the log. Secrets and service account tokens are replaced by their keys. */
export function loggedRequest(request: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(request).map(([field, value]) => {
      if (field === 'secrets') return [field, Object.keys(value as object).sort()];
      if (field === 'volumeContext') return [field, withoutTokens(value as Readonly<Record<string, string>>)];
      return [field, value];
    }),
  );
}

function withoutTokens(context: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(context).map(([key, value]) => [key, key.endsWith('.tokens') ? '(tokens)' : value]),
  );
}

/**
 * Returns the line that upstream's host path driver logs for a call. Specs of upstream find the calls of a driver by
 * these lines (`test/e2e/storage/drivers/csi.go: GetCalls`). Fields of the request have their names in the .proto file,
 * and secrets are a map with hidden values.
 */
function grpcCallLine({ rpc, request, code, details }: LoggedCall): string {
  const fields = Object.entries(request).map(([field, value]) => [
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    field === 'secrets' ? Object.fromEntries((value as readonly string[]).map((key) => [key, '(secret)'])) : value,
  ]);
  const failed = code !== 'OK';
  const call = {
    ...{ Method: rpc, Request: Object.fromEntries(fields), Response: null },
    Error: failed ? `rpc error: code = ${code} desc = ${details ?? ''}` : '',
    FullError: failed ? { code: GRPC_CODES.indexOf(code), message: details ?? '' } : null,
  };
  return `gRPCCall: ${JSON.stringify(call)}`;
}

/** Names of the gRPC codes, in the order of their numbers. */
const GRPC_CODES: readonly string[] = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];

/** Appends calls to a file, each as a line of JSON, in the order in which they end. */
export class CallLog {
  readonly #path: string;
  readonly #print: ((line: string) => void) | undefined;
  #written: Promise<void> = Promise.resolve();

  /**
   * @param path path of the log file; '' for no call log
   * @param print prints the {@link grpcCallLine} of each call. Default: not printed
   */
  constructor(path: string, print?: (line: string) => void) {
    this.#path = path;
    this.#print = print;
  }

  /**
   * Appends a call. Resolves when the line is in the file, so that a test that has received the response finds the
   * line.
   */
  async add(call: LoggedCall): Promise<void> {
    this.#print?.(grpcCallLine(call));
    if (this.#path === '') return;
    const written = this.#written.then(() => appendFile(this.#path, `${JSON.stringify(call)}\n`, { mode: 0o600 }));
    this.#written = written.catch(() => {});
    await written;
  }
}
