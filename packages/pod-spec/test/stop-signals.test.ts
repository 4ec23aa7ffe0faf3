import { expect, test } from 'vitest';
import { STOP_SIGNALS } from '../src/validation/stop-signals.ts';

test('the stop signals of containers are those of Linux, in order', () => {
  const range = (name: string, last: number): string[] =>
    Array.from({ length: last }, (_, index) => `SIG${name}${index + 1}`);
  const named =
    'SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR ' +
    'SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 ' +
    'SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ';
  expect(STOP_SIGNALS).toEqual([...named.split(' '), ...range('RTMAX-', 14), ...range('RTMIN+', 15)].sort());
});
