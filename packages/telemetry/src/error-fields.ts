/** Further down a chain of causes says nothing more to anybody. */
const MAX_CAUSES = 4;

/**
 * An error as fields of a log line: its class, message and stack, what else it carries (`code`, ...), and its cause where
 * the message does not repeat what that says, as most messages do. Anything else stays as it is.
 */
export function errorFields(error: unknown): unknown {
  return fieldsOf(error, MAX_CAUSES);
}

function fieldsOf(error: unknown, causes: number): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { name: _name, cause: _cause, ...own } = { ...error } as Record<string, unknown>;
  const told = cause === undefined || (cause instanceof Error && message.includes(cause.message));
  const inner = error instanceof AggregateError ? error.errors.map((part) => fieldsOf(part, 0)) : undefined;
  return {
    type: name,
    message,
    stack,
    ...own,
    ...(inner && { errors: inner }),
    ...(!told && causes > 0 && { cause: fieldsOf(cause, causes - 1) }),
  };
}
