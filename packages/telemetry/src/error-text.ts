/**
 * What a thrown value says, for an event, a condition or the message of another error: of a runtime's error the whole
 * status, `rpc error: code = NotFound desc = ...`, as upstream's have it. Errors in log fields are given whole.
 */
export function errorText(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return 'statusMessage' in thrown && typeof thrown.statusMessage === 'string' ? thrown.statusMessage : thrown.message;
}

/** What several errors say as one, each message once: `disk full`, or `[disk full, no route]` (`Aggregate` of `k8s.io/apimachinery/pkg/util/errors`). */
export function aggregateText(messages: readonly string[]): string {
  const different = [...new Set(messages)];
  return different.length === 1 ? different.join() : `[${different.join(', ')}]`;
}

/** Further down a chain of causes says nothing more to anybody. */
const MAX_CAUSES = 4;

/** What a thrown value and its causes say, each once: `cannot read: EACCES`. */
export function errorChainText(thrown: unknown): string {
  let text = errorText(thrown);
  let isStatus = hasDetails(thrown);
  let cause = causeOf(thrown);
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth++) {
    const more = errorText(cause);
    // A status that was made of another one has said what that says, if not word for word.
    if (!text.includes(more) && !(isStatus && hasDetails(cause))) text = `${text}: ${more}`;
    isStatus = hasDetails(cause);
    cause = causeOf(cause);
  }
  return text;
}

/** Whether it is a status of gRPC, of whichever package. */
function hasDetails(thrown: unknown): boolean {
  return thrown instanceof Error && 'details' in thrown && typeof thrown.details === 'string';
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? thrown.cause : undefined;
}
