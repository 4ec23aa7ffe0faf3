import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, systemClock, withTimeout } from '@node-agent/async';
import { errorText } from '@node-agent/telemetry';
import { NodeShutdownError } from './errors.ts';
import type { Inhibitor, InhibitorLock } from './logind.ts';

const TIMEOUT_MS = 25_000;
const MAX_STDERR = 4096;
/** What `cat` echoes; whatever else is said before it is no lock. */
const HELD = 'the lock is held\n';

/** How a {@link SystemdInhibit} is set. */
export interface SystemdInhibitOptions {
  /** The program, looked for on PATH where it is no path; `systemd-inhibit` by default. */
  readonly command?: string;
  /** Who holds the lock, for people who ask logind (`systemd-inhibit --list`); `kubelet` by default. */
  readonly who?: string;
  /** What for; `Kubelet needs time to handle node shutdown` by default. */
  readonly why?: string;
}

/**
 * Takes locks by `systemd-inhibit`. logind gives a lock as a file descriptor, over a unix socket: Node.js cannot take one from there, a child
 * process can. The child runs `cat`, which says that the lock is held by echoing a line, and ends with its input: no lock
 * outlives the process that took it, however that ends.
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
    // It may be gone before it is spoken to; that it is gone is told by its end.
    stdin?.on('error', () => undefined);
    stdin?.write(HELD);
    child.once('error', (err) => {
      held.reject(err);
      ended.resolve();
    });
    child.once('exit', () => ended.resolve());
    // All that it said has arrived then.
    child.once('close', (code, endedBy) => {
      held.reject(new Error(said.trim() || `systemd-inhibit ended with ${endedBy ?? code}`));
    });
  }

  async release(): Promise<void> {
    this.#child.stdin?.destroy();
    // Its descriptor is closed by the kernel, whatever it was about to do; what it runs has no input any more.
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
