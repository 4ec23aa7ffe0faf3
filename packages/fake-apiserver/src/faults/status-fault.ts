import { type Answer, jsonAnswer } from '../core/answer.ts';
import { ApiFailure } from '../core/failure.ts';
import type { RequestFault } from './fault.ts';

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'injected fault'],
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden: injected fault'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: ['Conflict', 'Operation cannot be fulfilled: injected fault'],
  410: ['Expired', 'The resourceVersion for the provided list is too old.'],
  429: ['TooManyRequests', 'The apiserver is overloaded, please try again later.'],
  500: ['InternalError', 'Internal error occurred: injected fault'],
  503: ['ServiceUnavailable', 'apiserver not ready'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};

/** Returns the response of a request that is rejected by a fault. */
export function statusFault(fault: Extract<RequestFault, { readonly kind: 'status' }>): Answer {
  const { code, body } = fault;
  const [reason, message] = REASONS[code] ?? ['', 'injected fault'];
  const retryAfterSeconds = fault.retryAfterSeconds ?? (code === 429 ? 1 : undefined);
  const headers: Readonly<Record<string, string>> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  if (body !== undefined) {
    return {
      status: code,
      body: new TextEncoder().encode(body),
      headers: { 'content-type': 'text/plain', ...headers },
    };
  }
  const failure = new ApiFailure({
    code,
    reason: fault.reason ?? reason,
    message: fault.message ?? message,
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  });
  return jsonAnswer(code, failure.status, headers);
}
