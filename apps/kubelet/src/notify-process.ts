import { spawn } from 'node:child_process';
import { type ProgramRun, runProgram } from '@node-agent/host';

/** A process that waits for one message to systemd, and sends it without starting another process. */
export interface NotifyProcess {
  /** Resolves when the message was sent. @throws Error if the process fails, or has ended */
  send(state: string): Promise<void>;
  /** Resolves when it has ended, or could not be started. */
  readonly ended: Promise<void>;
  kill(): void;
}

/** How a {@link NotifyProcess} sends: `again` remains for the next message, `once` ends with the first. */
export type NotifyMode = 'again' | 'once';

const SEND = {
  // systemd-notify becomes the shell that waits for the next message.
  again: `exec systemd-notify --exec "$line" ';' /bin/sh -c "$0" "$0"`,
  once: 'exec systemd-notify "$line"',
};

/** What the shell runs; it ends with its standard input, and so with the kubelet. */
function notifyScript(mode: NotifyMode): string {
  return `echo waiting; read -r line || exit 0; ${SEND[mode]}`;
}

const MAX_STDERR = 1024;

/** Starts a shell as a child, so that systemd takes its messages as this process's: `systemd-notify` sends in the name of its parent. */
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
  // Node makes no pipes if no file descriptor is left for them.
  child.stdin?.on('error', () => {});
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    waits += text.split('\n').length - 1;
    // The first time it has sent nothing yet.
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

/** Whether `systemd-notify` has the option `--exec`, which systemd has since version 254. @throws as `runProgram` */
export async function canExec(environment: ProgramRun['environment'], signal: AbortSignal): Promise<boolean> {
  const program = { command: 'systemd-notify', args: ['--help'], environment, maxStdoutLength: 65_536 };
  return (await runProgram(program, signal)).stdout.includes('--exec');
}
