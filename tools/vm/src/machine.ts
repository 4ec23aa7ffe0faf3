import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RESULTS } from './guest.ts';
import { type MachineImage, type NumaMachine, type QemuRun, qemuArguments } from './qemu.ts';

export interface RunOptions {
  /** Directory that the guest sees as `/mnt/host`. */
  readonly share: string;
  readonly timeoutMs: number;
  /** Called with the output of the command while the command runs. */
  readonly onOutput: (bytes: Buffer) => void;
  /** NUMA machine, which is booted instead of resumed. Default: a machine without NUMA nodes. */
  readonly numa?: NumaMachine;
  /** Directory that receives the files that the command wrote to {@link RESULTS}. Default: they are discarded. */
  readonly results?: string;
}

const POLL_MS = 200;
/** Time limit of a cold boot in ms. A boot takes about 20 s on an idle machine and much longer on a busy one. */
const BOOT_TIMEOUT_MS = 900_000;

/**
 * Runs a command as root in a separate machine that is discarded afterwards.
 * @returns the command's exit status
 * @throws Error with the console's output if the machine ended without a status
 */
export async function runInMachine(image: MachineImage, command: string, options: RunOptions): Promise<number> {
  const run = await mkdtemp(join(tmpdir(), 'node-agent-vm-'));
  try {
    await writeFile(join(run, 'command'), `${command}\n`);
    await mkdir(join(run, basename(RESULTS)));
    await writeFile(join(run, 'now'), String(Math.floor(Date.now() / 1000)));
    const machine = startQemu({ image, run, share: options.share, ...(options.numa && { numa: options.numa }) });
    const timer = setTimeout(() => machine.child.kill('SIGKILL'), options.timeoutMs);
    const following = follow(join(run, 'output'), machine.ended, options.onOutput);
    await go(join(run, 'go'), machine.ended);
    const messages = await machine.ended;
    clearTimeout(timer);
    await following;
    const status = await readFile(join(run, 'status'), 'utf8').catch(() => undefined);
    if (status !== undefined && status.trim() !== '') return Number(status);
    const console = await readFile(join(run, 'console.log'), 'utf8').catch(() => '');
    throw new Error(`run in virtual machine: ended without a status: ${messages}${console.slice(-2000)}`);
  } finally {
    const written = join(run, basename(RESULTS));
    if (options.results !== undefined && existsSync(written)) await cp(written, options.results, { recursive: true });
    await rm(run, { recursive: true, force: true });
  }
}

/** Boots a built machine and saves its state next to its disk. @throws Error if the machine does not boot */
export async function saveBootedMachine(image: MachineImage): Promise<void> {
  const run = await mkdtemp(join(tmpdir(), 'node-agent-vm-'));
  try {
    const share = join(run, 'share');
    await mkdir(share);
    const machine = startQemu({ image, run, share, cold: true, monitor: true });
    const timer = setTimeout(() => machine.child.kill('SIGKILL'), BOOT_TIMEOUT_MS);
    const isReady = async (): Promise<boolean> =>
      (await readFile(join(run, 'ready'), 'utf8').catch(() => '')).includes('ready');
    while (!machine.isOver() && !(await isReady())) await sleep(POLL_MS);
    // The delay lets the last started services settle.
    await sleep(2000);
    machine.child.stdin?.write(`migrate "exec:cat >'${join(image.directory, 'state.part')}'"\nquit\n`);
    const messages = await machine.ended;
    clearTimeout(timer);
    const console = await readFile(join(run, 'console.log'), 'utf8').catch(() => '');
    const part = join(image.directory, 'state.part');
    if (!existsSync(part)) throw new Error(`boot virtual machine: ${messages}${console.slice(-2000)}`);
    if ((await stat(part)).size === 0) throw new Error(`save state of virtual machine: ${messages}`);
    await rename(part, join(image.directory, 'state'));
  } finally {
    await rm(run, { recursive: true, force: true });
  }
}

function startQemu(options: QemuRun): { child: ReturnType<typeof spawn>; ended: Promise<string>; isOver(): boolean } {
  const child = spawn('qemu-system-x86_64', qemuArguments(options), { stdio: ['pipe', 'pipe', 'pipe'] });
  let messages = '';
  let over = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      messages = (messages + text).slice(-2000);
    });
  }
  child.stdin?.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.on('error', (err) => {
      over = true;
      resolve(String(err));
    });
    child.on('close', () => {
      over = true;
      resolve(messages);
    });
  });
  return { child, ended, isOver: () => over };
}

/** Sends the byte that makes the guest start. The emulator creates the socket when it is ready. */
async function go(path: string, ended: Promise<unknown>): Promise<void> {
  let over = false;
  ended.then(() => {
    over = true;
  });
  while (!over && !existsSync(path)) await sleep(POLL_MS);
  if (over) return;
  const socket = connect(path);
  socket.on('error', () => undefined);
  socket.write('g');
  ended.then(() => socket.destroy());
}

/** Reads a file while it grows, until its writer has ended. */
async function follow(path: string, ended: Promise<unknown>, onOutput: (bytes: Buffer) => void): Promise<void> {
  let over = false;
  ended.then(() => {
    over = true;
  });
  let position = 0;
  for (;;) {
    const isLast = over;
    if (existsSync(path)) {
      for await (const bytes of createReadStream(path, { start: position })) {
        position += (bytes as Buffer).length;
        onOutput(bytes as Buffer);
      }
    }
    if (isLast) return;
    await sleep(POLL_MS);
  }
}
