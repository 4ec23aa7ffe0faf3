import type { UnansweredCall } from './plugin.ts';

/** Describes a call that a driver has not answered, with the time that has passed. */
export function callText({ what, sinceMs }: UnansweredCall, nowMs: number): string {
  return `${what} has not answered for ${Math.floor((nowMs - sinceMs) / 1000)} s`;
}

/** Returns the error message of a volume whose operation did not finish in time. */
export function timedOut(unanswered: UnansweredCall | undefined, nowMs: number): string {
  const deadline = 'context deadline exceeded';
  return unanswered === undefined ? deadline : `${deadline}: ${callText(unanswered, nowMs)}`;
}
