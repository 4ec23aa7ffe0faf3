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

/** Appends calls to a file, each as a line of JSON, in the order in which they end. */
export class CallLog {
  readonly #path: string;
  #written: Promise<void> = Promise.resolve();

  /** @param path path of the log file; '' for no call log */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Appends a call. Resolves when the line is in the file, so that a test that has received the response finds the
   * line.
   */
  async add(call: LoggedCall): Promise<void> {
    if (this.#path === '') return;
    const written = this.#written.then(() => appendFile(this.#path, `${JSON.stringify(call)}\n`, { mode: 0o600 }));
    this.#written = written.catch(() => {});
    await written;
  }
}
