/** The signals that fake processes know, by number. */
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

/** The number of a signal given as `SIGTERM`, `TERM` or `15`; `undefined` where it is unknown. */
export function signalNumber(text: string): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const upper = text.toUpperCase();
  return signals[upper.startsWith('SIG') ? upper : `SIG${upper}`];
}
