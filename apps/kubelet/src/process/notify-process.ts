import { spawn } from 'node:child_process';
import { type ProgramRun, runProgram } from '@node-agent/host';

/** Idle process that sends messages to systemd without starting another process. */
export interface NotifyProcess {
  /** Resolves when the message was sent. @throws Error if the process fails or has exited */
  send(state: string): Promise<void>;
  /** Resolves when the process has exited or could not be started. */
  readonly ended: Promise<void>;
  kill(): void;
}

/**
 * Mode of a {@link NotifyProcess}: in mode `again` the process stays for the next message; in mode `once` the process
 * exits after the first.
 */
export type NotifyMode = 'again' | 'once';

const SEND = {
  // After sending, systemd-notify executes the shell again, which then waits for the next message.
  // Without `--`, systemd-notify reads the shell's `-c` as an option of its own and sends nothing.
  again: `exec systemd-notify --exec -- "$line" ';' /bin/sh -c "$0" "$0"`,
  once: 'exec systemd-notify "$line"',
};

/**
 * Returns the shell script. The shell exits when its standard input is closed, which happens when the kubelet exits.
 */
function notifyScript(mode: NotifyMode): string {
  return `echo waiting; read -r line || exit 0; ${SEND[mode]}`;
}

const MAX_STDERR = 1024;

/**
 * Starts the shell as a child process. `systemd-notify` sends in the name of its parent process, so systemd attributes
 * the messages to the kubelet.
 */
export function startNotifyProcess(mode: NotifyMode, environment: ProgramRun['environment']): NotifyProcess {
  const script = notifyScript(mode);
  const child = spawn('/bin/sh', ['-c', script, script], { env: { ...environment }, cwd: '/' });
  let stderr = '';
  let waits = 0;
  let problem: Error | undefined;
  let onSent = (_error?: Error): void => {};
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const end = (why: Error | undefined): void => {
    problem = why ?? new Error('it has ended');
    onSent(why);
    resolve();
  };
  child.on('error', (error) => end(error));
  child.on('close', (code) => end(code === 0 ? undefined : new Error(`ended with ${code}: ${stderr.trim()}`)));
  // Node.js creates no pipes if no file descriptors are left.
  child.stdin?.on('error', () => {});
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    waits += text.split('\n').length - 1;
    // The shell prints one line each time it starts to wait; the first line precedes any message.
    if (waits > 1) onSent();
  });
  child.unref();
  const pipes = [child.stdin, child.stdout, child.stderr] as readonly ({ readonly unref?: () => void } | undefined)[];
  for (const pipe of pipes) pipe?.unref?.();
  return {
    ended,
    send(state) {
      if (problem !== undefined) return Promise.reject(problem);
      waits = Math.min(waits, 1);
      const sent = Promise.withResolvers<void>();
      onSent = (error) => (error === undefined ? sent.resolve() : sent.reject(error));
      child.stdin?.write(`${state}\n`);
      return sent.promise;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Returns whether `systemd-notify` has the option `--exec`, added in systemd 254. @throws as `runProgram` */
export async function canExec(environment: ProgramRun['environment'], signal: AbortSignal): Promise<boolean> {
  const program = { command: 'systemd-notify', args: ['--help'], environment, maxStdoutLength: 65_536 };
  return (await runProgram(program, signal)).stdout.includes('--exec');
}
