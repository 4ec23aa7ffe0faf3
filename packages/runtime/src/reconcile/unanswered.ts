import { CriError } from '@node-agent/cri-client';

/** Whether a call failed so that nobody knows what the runtime has done of it: it may be done yet. */
export function isUnanswered(err: unknown): boolean {
  return ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'CANCELLED'].includes(CriError.from(err).code);
}
