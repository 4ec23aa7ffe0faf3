import { CriError } from '@node-agent/cri-client';

/** Returns whether a call failed with an unknown effect: the runtime may have performed it or may still do so. */
export function isUnanswered(err: unknown): boolean {
  return ['DEADLINE_EXCEEDED', 'UNAVAILABLE', 'CANCELLED'].includes(CriError.from(err).code);
}
