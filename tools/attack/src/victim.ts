import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Pod } from '@node-agent/pod-spec';
import type { FromVictim, ToVictim } from './victim/messages.ts';

const PROGRAM = fileURLToPath(new URL('victim/main.ts', import.meta.url));
/** Resource limits of a victim. A successful attack must not harm the machine. */
const LIMITS = { openFiles: 1024, heapMiB: 256 };
/** Maximum time to wait for a victim whose event loop is blocked. */
const ANSWER_MS = 15_000;

export type Figures = Extract<FromVictim, { readonly kind: 'figures' }>;

/** A kubelet's servers and pod sources in a separate process, on the loopback interface. */
export class Victim implements AsyncDisposable {
  readonly port: number;
  readonly healthzPort: number;
  /** Socket of the pod-resources API. */
  readonly socketPath: string;
  /** Directory of static pod manifests. */
  readonly manifestDirectory: string;
  readonly #child: ChildProcess;
  readonly #directory: string;

  private constructor(child: ChildProcess, directory: string, ready: Extract<FromVictim, { readonly kind: 'ready' }>) {
    this.#child = child;
    this.#directory = directory;
    this.port = ready.port;
    this.healthzPort = ready.healthzPort;
    this.socketPath = join(directory, 'kubelet.sock');
    this.manifestDirectory = join(directory, 'manifests');
  }

  /** Starts a victim and waits until it listens. @throws Error if the process ends before it listens */
  static async start(): Promise<Victim> {
    const directory = await mkdtemp(join(tmpdir(), 'attack-'));
    await Promise.all(['manifests', 'logs', 'data'].map((name) => mkdir(join(directory, name))));
    const pair = ['-keyout', join(directory, 'server.key'), '-out', join(directory, 'server.crt')];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    await promisify(execFile)('openssl', ['req', '-x509', ...key, '-subj', '/CN=victim', '-days', '2', ...pair]);
    const node = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning'];
    const command = [...node, `--max-old-space-size=${LIMITS.heapMiB}`, PROGRAM, directory];
    const child = spawn(
      'sh',
      ['-c', `ulimit -n ${LIMITS.openFiles} && exec "$@"`, 'sh', process.execPath, ...command],
      { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
    );
    const [ready] = (await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [undefined])])) as [
      FromVictim | undefined,
    ];
    if (ready?.kind !== 'ready') {
      child.kill('SIGKILL');
      await rm(directory, { recursive: true });
      throw new Error('the victim ended before it listened');
    }
    return new Victim(child, directory, ready);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Returns the number of open descriptors of the process according to the kernel. */
  async descriptors(): Promise<number> {
    return this.isAlive ? (await readdir(`/proc/${this.#child.pid}/fd`)).length : 0;
  }

  /**
   * Returns the figures of the process, or `undefined` if it does not respond. The longest stall is the longest since
   * the previous call.
   */
  async figures(): Promise<Figures | undefined> {
    if (!this.isAlive) return undefined;
    const answered = new Promise<Figures | undefined>((resolve) => {
      const late = setTimeout(() => resolve(undefined), ANSWER_MS);
      const hear = (message: FromVictim): void => {
        if (message.kind !== 'figures') return;
        clearTimeout(late);
        this.#child.off('message', hear);
        resolve(message);
      };
      this.#child.on('message', hear);
    });
    this.#send({ kind: 'figures' });
    return await answered;
  }

  /** Sends pods to the kubelet as an API server would. */
  showPods(pods: readonly Pod[]): void {
    this.#send({ kind: 'pods', pods });
  }

  /** Reads a file of the victim's own directory. */
  async read(name: string): Promise<string> {
    return await readFile(join(this.#directory, name), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isAlive) {
      const gone = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await gone;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }

  #send(message: ToVictim): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }
}
