/** A reply to an HTTP request. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A {@link Reply} with a binary body. */
export interface BytesReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Creates a plain-text reply. The header `nosniff` keeps browsers from guessing another content type. */
export function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const plain = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
  return { status, headers: { ...plain, ...headers }, body };
}

/** Returns the reply to a failed request. The reply does not contain the error's text. */
export function internalError(): Reply {
  return text(500, 'Internal Server Error\n');
}

/** Creates a JSON reply with a trailing newline, as upstream's encoder writes it. */
export function json(value: unknown): Reply {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(value)}\n` };
}
