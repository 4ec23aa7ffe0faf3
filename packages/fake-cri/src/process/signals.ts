/** Numbers of the signals that fake processes support. */
export const signals: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGWINCH: 28,
};

/**
 * Returns the number of a signal that is given as `SIGTERM`, `TERM` or `15`. Returns `undefined` if the signal is
 * unknown.
 */
export function signalNumber(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const upper = text.toUpperCase();
  return signals[upper.startsWith('SIG') ? upper : `SIG${upper}`];
}
