/** Longest chain of causes that is logged. Deeper causes add nothing useful. */
const MAX_CAUSES = 4;

/**
 * Converts an error into fields of a log line: its class, message and further properties (`code`, ...), and its cause
 * unless the message already contains the cause's message, as most messages do. Other values are returned unchanged.
 * @param withStacks whether to include the stacks of the error and its causes. Default: true.
 */
export function errorFields(error: unknown, withStacks = true): unknown {
  return fieldsOf(error, MAX_CAUSES, withStacks);
}

function fieldsOf(error: unknown, causes: number, withStacks: boolean): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { name: _name, cause: _cause, ...own } = { ...error } as Record<string, unknown>;
  const told = cause === undefined || (cause instanceof Error && message.includes(cause.message));
  const inner = error instanceof AggregateError ? error.errors.map((part) => fieldsOf(part, 0, withStacks)) : undefined;
  return {
    type: name,
    message,
    ...(withStacks && { stack }),
    ...own,
    ...(inner && { errors: inner }),
    ...(!told && causes > 0 && { cause: fieldsOf(cause, causes - 1, withStacks) }),
  };
}
