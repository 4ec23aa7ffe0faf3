import type { Answer } from './exchange.ts';
import { http } from './node-http.ts';

/**
 * Checks an answer before any of it is sent. @returns the answer. @throws TypeError with the reason why it cannot be
 * sent
 */
export function expectSendable<T extends Answer>(answer: T): T {
  const problem = answerProblem(answer);
  if (problem !== undefined) throw new TypeError(`the answer cannot be sent: ${problem}`);
  return answer;
}

/**
 * Returns why an answer cannot be sent over any version of HTTP: the status is not in 200 to 599, a header is invalid,
 * or the body is missing. Returns `undefined` if the answer can be sent.
 */
function answerProblem(answer: Answer): string | undefined {
  const { status, headers } = answer;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    return `status must be a whole number from 200 to 599, not ${String(status)}`;
  }
  return headersProblem(headers) ?? bodyProblem(answer);
}

function headersProblem(headers: Answer['headers']): string | undefined {
  try {
    for (const [name, value] of Object.entries(headers ?? {})) {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return undefined;
}

function bodyProblem(answer: Answer): string | undefined {
  if ('stream' in answer) {
    const stream: Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined = answer.stream;
    const isStream = stream?.[Symbol.asyncIterator] !== undefined || stream?.[Symbol.iterator] !== undefined;
    return isStream ? undefined : `stream is ${kindOf(stream)}`;
  }
  if ('bytes' in answer) return answer.bytes instanceof Uint8Array ? undefined : `bytes is ${kindOf(answer.bytes)}`;
  const body: unknown = answer.body;
  return typeof body === 'string' || body instanceof Uint8Array ? undefined : `body is ${kindOf(body)}`;
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}
