/**
 * Returns the text of a thrown value, for an event, a condition or the message of another error. For an error of the
 * runtime the text is the whole gRPC status, `rpc error: code = NotFound desc = ...`, as in upstream's messages. Log
 * fields should hold the error itself instead.
 */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return 'statusMessage' in thrown && typeof thrown.statusMessage === 'string' ? thrown.statusMessage : thrown.message;
}

/**
 * Joins the messages of several errors, each distinct message once: `disk full`, or `[disk full, no route]`
 * (`Aggregate` of `k8s.io/apimachinery/pkg/util/errors`).
 */
export function aggregateText(messages: readonly string[]): string {
  const different = [...new Set(messages)];
  return different.length === 1 ? different.join() : `[${different.join(', ')}]`;
}

/** Longest chain of causes that is printed. Deeper causes add nothing useful. */
const MAX_CAUSES = 4;

/** Returns the messages of a thrown value and its causes, each message once: `cannot read: EACCES`. */
export function errorChainText(thrown: unknown): string {
  let text = errorText(thrown);
  let isStatus = hasDetails(thrown);
  let cause = causeOf(thrown);
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth++) {
    const more = errorText(cause);
    // A gRPC status built from another status already contains its meaning, possibly in other words.
    if (!text.includes(more) && !(isStatus && hasDetails(cause))) text = `${text}: ${more}`;
    isStatus = hasDetails(cause);
    cause = causeOf(cause);
  }
  return text;
}

/** Returns whether a value is a gRPC status error, regardless of its package. */
function hasDetails(thrown: unknown): boolean {
  return thrown instanceof Error && 'details' in thrown && typeof thrown.details === 'string';
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? thrown.cause : undefined;
}
