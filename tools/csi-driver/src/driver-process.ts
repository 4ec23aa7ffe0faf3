import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GrpcClient, type Init, type UnaryRpc } from '@node-agent/grpc';
import { nodeFileSystem } from '@node-agent/host';
import type { LoggedCall } from './call-log.ts';
import { parseControl } from './faults/control-file.ts';
import { controllerRpcs } from './generated/services.ts';
import { VolumeCapabilityAccessModeMode } from './generated/types.ts';
import { removeStorageLeftovers } from './leftovers.ts';
import { PROGRAM_FILES } from './program-files.ts';

const START_MS = 60_000;
const CALL_MS = 60_000;

/** Options of a {@link DriverProcess}. */
export interface DriverProcessOptions {
  /**
   * Directory of socket, state, logs and control file. The path must be short, because the directory contains sockets.
   */
  readonly directory: string;
  readonly driverName: string;
  readonly nodeId: string;
  /** Flags in addition to those that the options imply. */
  readonly flags?: readonly string[];
  /** The kubelet's directory `plugins_registry`. If present, a registrar announces the driver in it. */
  readonly registryDirectory?: string;
}

/** Volume to create. */
export interface VolumeWish {
  readonly sizeBytes?: number;
  /** Whether the volume is a block device. */
  readonly isBlock?: boolean;
  /** File system on an image. If absent, the volume is a directory. */
  readonly fsType?: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** The driver and its registrar, each as a process of its own, for tests. */
export class DriverProcess {
  readonly socketPath: string;
  readonly logFile: string;
  readonly #options: DriverProcessOptions;
  #driver: ChildProcess | undefined;
  #registrar: ChildProcess | undefined;

  constructor(options: DriverProcessOptions) {
    this.#options = options;
    this.socketPath = join(options.directory, 'csi.sock');
    this.logFile = join(options.directory, 'driver.log');
  }

  /** Starts the driver and its registrar unless they run, and waits until the driver serves. */
  async start(): Promise<void> {
    const { directory, driverName, nodeId, flags = [], registryDirectory } = this.#options;
    await mkdir(directory, { recursive: true });
    if (!isRunning(this.#driver)) {
      this.#driver = await this.#spawn(PROGRAM_FILES.driver, [
        ...[`--endpoint=unix://${this.socketPath}`, `--drivername=${driverName}`, `--nodeid=${nodeId}`, '--v=4'],
        `--statedir=${join(directory, 'state')}`,
        ...[`--control-file=${this.#file('control.json')}`, `--call-log=${this.#file('calls.jsonl')}`],
        ...flags,
      ]);
    }
    if (registryDirectory !== undefined && !isRunning(this.#registrar)) {
      this.#registrar = await this.#spawn(PROGRAM_FILES.registrar, [
        ...[`--csi-address=${this.socketPath}`, `--kubelet-registration-path=${this.socketPath}`, '--v=2'],
        `--plugin-registration-path=${registryDirectory}`,
      ]);
    }
    const end = performance.now() + START_MS;
    while (!(await this.#answers())) {
      if (!isRunning(this.#driver) || performance.now() > end) {
        throw new Error(`start CSI driver: it does not answer\n${await readFile(this.logFile, 'utf8')}`);
      }
      await pause(50);
    }
  }

  get isRunning(): boolean {
    return isRunning(this.#driver);
  }

  /** Kills the driver alone and waits for its end. */
  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await end(this.#driver, signal);
  }

  /** Kills the registrar alone and waits for its end. With SIGTERM, the registrar removes its socket. */
  async killRegistrar(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await end(this.#registrar, signal);
  }

  /** Ends both processes, unmounts everything below the directory and removes its loop devices. */
  async stop(): Promise<void> {
    await this.killRegistrar('SIGKILL');
    await this.kill('SIGKILL');
    await removeStorageLeftovers(this.#options.directory);
  }

  /** Replaces the content of the control file: see `Control`. */
  async control(content: object): Promise<void> {
    await nodeFileSystem.writeFileAtomic(this.#file('control.json'), JSON.stringify(content));
  }

  /** Returns the number of fault rules that are still in the control file. */
  async faultsLeft(): Promise<number> {
    return (await this.#faults()).length;
  }

  /**
   * Returns how many more calls the limited fault rules in the control file will affect. Calls that already hang are
   * not included.
   */
  async hitsLeft(): Promise<number> {
    return (await this.#faults()).reduce((sum, { times = 0 }) => sum + times, 0);
  }

  /** Returns the fault rules in the control file. */
  async #faults(): Promise<ReturnType<typeof parseControl>['faults']> {
    return parseControl(await readFile(this.#file('control.json'), 'utf8')).faults;
  }

  /** Returns the calls of the driver that have ended, oldest first. @param rpc only calls of this RPC */
  async calls(rpc?: string): Promise<readonly LoggedCall[]> {
    const text = await readFile(this.#file('calls.jsonl'), 'utf8').catch(() => '');
    const calls = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LoggedCall]));
    return rpc === undefined ? calls : calls.filter((call) => call.rpc === rpc);
  }

  /** Calls an RPC of the driver. @throws GrpcError */
  async call<Req, Res>(rpc: UnaryRpc<Req, Res>, request: Init<Req>, timeoutMs: number = CALL_MS): Promise<Res> {
    const client = new GrpcClient({}, { socketPath: this.socketPath });
    try {
      return await client.unary(rpc, request, { timeoutMs });
    } finally {
      client.close();
    }
  }

  /** Creates a volume, and returns its ID. */
  async createVolume(
    name: string,
    { sizeBytes = 16 << 20, isBlock, fsType = '', parameters = {} }: VolumeWish = {},
  ): Promise<string> {
    const accessMode = { mode: VolumeCapabilityAccessModeMode.MULTI_NODE_MULTI_WRITER };
    const capability = isBlock ? { block: {}, accessMode } : { mount: { fsType }, accessMode };
    const capacityRange = { requiredBytes: sizeBytes };
    const request = { name, capacityRange, volumeCapabilities: [capability], parameters };
    const { volume } = await this.call(controllerRpcs.createVolume, request);
    return volume?.volumeId ?? '';
  }

  /**
   * Attaches a volume that is used in one of the access modes of Kubernetes' ReadWriteOnce, as an external attacher
   * does. @returns the metadata for the status of the VolumeAttachment
   */
  async attachVolume(
    volumeId: string,
    { isBlock = false }: Pick<VolumeWish, 'isBlock'> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const volumeCapability = {
      ...(isBlock ? { block: {} } : { mount: {} }),
      accessMode: { mode: VolumeCapabilityAccessModeMode.SINGLE_NODE_MULTI_WRITER },
    };
    const request = { volumeId, nodeId: this.#options.nodeId, volumeCapability };
    return (await this.call(controllerRpcs.controllerPublishVolume, request)).publishContext;
  }

  /** Path of the directory or image of a volume. */
  contentOf(volumeId: string, kind: 'data' | 'image'): string {
    return join(this.#options.directory, 'state/volumes', volumeId, kind);
  }

  async #answers(): Promise<boolean> {
    if (!existsSync(this.socketPath)) return false;
    return this.call(controllerRpcs.controllerGetCapabilities, {}, 1_000).then(
      () => true,
      () => false,
    );
  }

  async #spawn(program: string, args: readonly string[]): Promise<ChildProcess> {
    const log = openSync(this.logFile, 'a', 0o600);
    const flags = ['--conditions=@node-agent/source', '--disable-warning=ExperimentalWarning', program];
    const child = spawn(process.execPath, [...flags, ...args], { stdio: ['ignore', log, log] });
    closeSync(log);
    await new Promise((resolve, reject) => {
      child.on('spawn', resolve);
      child.on('error', reject);
    });
    return child;
  }

  #file(name: string): string {
    return join(this.#options.directory, name);
  }
}

function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

async function end(child: ChildProcess | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (!isRunning(child)) return;
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.kill(signal);
  await ended;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
