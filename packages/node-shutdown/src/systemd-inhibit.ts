import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, systemClock, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { NodeShutdownError } from './errors.ts';
import type { Inhibitor, InhibitorLock } from './logind.ts';

const TIMEOUT_MS = 25_000;
const MAX_STDERR = 4096;
/** Line that `cat` echoes when the lock is held. Other output does not prove that the lock is held. */
const HELD = 'the lock is held\n';

/** Options of a {@link SystemdInhibit}. */
export interface SystemdInhibitOptions {
  /** Program to run. A name without a path is searched on PATH. Default: `systemd-inhibit`. */
  readonly command?: string;
  /** Holder of the lock, as shown by logind (`systemd-inhibit --list`). Default: `kubelet`. */
  readonly who?: string;
  /** Reason of the lock. Default: `Kubelet needs time to handle node shutdown`. */
  readonly why?: string;
}

/**
 * Takes locks with `systemd-inhibit`. logind passes a lock as a file descriptor over a unix socket, which Node.js
 * cannot receive, but a child process can. The child runs `cat`, which echoes a line when the lock is held, and exits
 * when its input closes. Therefore no lock outlives the process that took it, however that process exits.
 */
export class SystemdInhibit implements Inhibitor {
  readonly #clock: Clock;
  readonly #command: string;
  readonly #args: readonly string[];

  constructor(
    { clock = systemClock }: { readonly clock?: Clock } = {},
    {
      command = 'systemd-inhibit',
      who = 'kubelet',
      why = 'Kubelet needs time to handle node shutdown',
    }: SystemdInhibitOptions = {},
  ) {
    this.#clock = clock;
    this.#command = command;
    this.#args = ['--what=shutdown', `--who=${who}`, `--why=${why}`, '--mode=delay', 'cat'];
  }

  async acquire(signal: AbortSignal): Promise<InhibitorLock> {
    const child = spawn(this.#command, this.#args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const lock = new ChildLock(child);
    try {
      await withTimeout(this.#clock, TIMEOUT_MS, () => lock.held, signal);
      return lock;
    } catch (err) {
      void lock.release();
      signal.throwIfAborted();
      throw new NodeShutdownError('Inhibit', `failed creating systemd inhibitor: ${errorText(err)}`, { cause: err });
    }
  }
}

class ChildLock implements InhibitorLock {
  readonly held: Promise<void>;
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    const { stdin, stdout, stderr } = child;
    const held = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    this.held = held.promise;
    this.ended = ended.promise;
    this.held.catch(() => undefined);
    let said = '';
    stderr?.on('data', (bytes: Buffer) => {
      said = `${said}${bytes}`.slice(0, MAX_STDERR);
    });
    let echoed = '';
    stdout?.on('data', (bytes: Buffer) => {
      echoed = `${echoed}${bytes}`.slice(-HELD.length);
      if (echoed === HELD) held.resolve();
    });
    // The child may already have exited. Its exit event reports that, so the write error is ignored.
    stdin?.on('error', () => undefined);
    stdin?.write(HELD);
    child.once('error', (err) => {
      held.reject(err);
      ended.resolve();
    });
    child.once('exit', () => ended.resolve());
    // At the event `close`, all output of the child has been received.
    child.once('close', (code, endedBy) => {
      held.reject(new Error(said.trim() || `systemd-inhibit exited with ${endedBy ?? code}`));
    });
  }

  async release(): Promise<void> {
    this.#child.stdin?.destroy();
    // The kernel closes the killed child's descriptor; the `cat` process exits because its input is closed.
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
