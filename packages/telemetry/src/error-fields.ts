/** Further down a chain of causes says nothing more to anybody. */
const MAX_CAUSES = 4;

/**
 * An error as fields of a log line: its class and message, what else it carries (`code`, ...), and its cause where the message does
 * not repeat what that says, as most messages do. Anything else stays as it is.
 * @param withStacks its stack, too, and those of its causes; true by default
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
