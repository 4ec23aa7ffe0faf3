const NAMES =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP ' +
  'TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX';

/** Signals that may be configured to stop a container on Linux (KEP-4960). */
export const STOP_SIGNALS: readonly string[] = [
  ...NAMES.split(' '),
  ...Array.from({ length: 15 }, (_, index) => `RTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `RTMAX-${index + 1}`),
]
  .map((name) => `SIG${name}`)
  .sort();
