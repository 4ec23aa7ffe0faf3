/** An answer to an HTTP request, as a value. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** As {@link Reply}, of a body that is no text. */
export interface BytesReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** An answer in plain text, which no browser may take for anything else. */
export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const plain = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
  return { status, headers: { ...plain, ...headers }, body };
}

/** The reply to a request that failed: clients get no more of the error than that. */
export function internalError(): Reply {
  return text(500, 'Internal Server Error\n');
}

/** A value as JSON, with a newline at its end as upstream's encoder writes it. */
export function json(value: unknown): Reply {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(value)}\n` };
}
