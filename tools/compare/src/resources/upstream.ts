import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Answer, Sequence } from './sequence.ts';
import { sysFiles, type TopologyShape } from './topologies.ts';

/** Machine as cAdvisor describes it to the Go kubelet. */
export type MachineInfo = Readonly<Record<string, unknown>>;

/**
 * Returns the machine as cAdvisor reads it from files in a temporary directory. @throws Error if the program fails, or
 * without root
 */
export async function machineInfo(program: string, shape: TopologyShape): Promise<MachineInfo> {
  const root = await mkdtemp(join(tmpdir(), 'na-machine-'));
  try {
    for (const [path, text] of sysFiles(shape)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const { stdout } = await promisify(execFile)(program, ['machine', root]);
    return JSON.parse(stdout) as MachineInfo;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Process of the Go program with upstream's resource managers, which runs one sequence after another. */
export class Upstream implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /** @param directory parent directory of the directories with the state files */
  constructor(program: string, directory: string) {
    this.#child = spawn(program, ['run'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: directory },
    });
    if (this.#child.stdout === null) throw new Error(`${program} has no output`);
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Returns the answers at the start and after each step, up to the first error. */
  async run(machine: MachineInfo, { config, steps }: Sequence): Promise<readonly Answer[]> {
    this.#child.stdin?.write(`${JSON.stringify({ machine, config, steps })}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error('the program with the managers of the Go kubelet has ended');
    return JSON.parse(value) as readonly Answer[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin?.end();
    if (this.#child.exitCode === null) await closed;
  }
}
