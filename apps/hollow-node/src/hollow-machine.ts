import type { Clock, Random } from '@node-agent/async';
import type { ImageService, RuntimeService } from '@node-agent/cri-client';
import { FakeRuntime, type FakeRuntimeOptions } from '@node-agent/fake-cri';
import { FakeStreamingServer } from '@node-agent/fake-cri/streaming';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { MemoryMounter } from '@node-agent/volumes/testing';
import { type MachineFigures, machineTexts } from './machine-texts.ts';

/** Sizes of the machine of a hollow node. */
export interface MachineSize {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly storageBytes: number;
}

/**
 * Simulated CPU and memory usage of the machine without its pods: of a kubelet, a container runtime and an operating
 * system.
 */
const SYSTEM_CPU_NANO_CORES = 20_000_000;
const SYSTEM_MEMORY_BYTES = 300 * 1024 * 1024;

/**
 * The machine of a hollow node, in memory: file system, mounts, container runtime, and the kernel's files about CPU and
 * memory. The machine survives a failure of its kubelet.
 */
export class HollowMachine {
  readonly fs: MemoryFileSystem;
  readonly mounter: MemoryMounter;
  readonly runtime: FakeRuntime;
  /**
   * The runtime with streams: exec, attach and port-forward are served on a port that is opened at the first such
   * request.
   */
  readonly cri: RuntimeService & ImageService;
  readonly #clock: Clock;
  readonly #size: MachineSize;
  readonly #bootedAtMs: number;
  #cpu: { readonly usedNs: number; readonly atMs: number };
  #streaming: { readonly server: FakeStreamingServer; readonly started: Promise<void> } | undefined;

  constructor(
    { clock, random }: { readonly clock: Clock; readonly random: Random },
    size: MachineSize,
    runtime: Pick<FakeRuntimeOptions, 'script' | 'latencies' | 'podCidrs'>,
  ) {
    this.#clock = clock;
    this.#size = size;
    this.#bootedAtMs = clock.now();
    this.#cpu = { usedNs: 0, atMs: clock.monotonic() };
    this.fs = new MachineFiles(clock, () => this.#figures());
    this.mounter = new MemoryMounter(this);
    this.runtime = new FakeRuntime(
      { clock, random, fs: this.fs },
      { ...runtime, usesPodCidr: true, mountpoint: CONTAINERS_DIRECTORY },
    );
    this.cri = withStreams(this.runtime, () => this.#openStreams());
  }

  /** Creates the files and directories of a new machine. */
  async prepare(): Promise<void> {
    for (const directory of ['/etc', '/var/lib/kubelet', '/var/log/pods', CONTAINERS_DIRECTORY]) {
      await this.fs.mkdir(directory);
    }
    await this.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
    await this.fs.writeFile('/etc/resolv.conf', 'nameserver 192.0.2.53\n');
  }

  /** Ends all containers of the machine, and its streams. */
  async powerOff(): Promise<void> {
    this.runtime.powerOff();
    await this.#streaming?.started.catch(() => undefined);
    await this.#streaming?.server.close();
  }

  async #openStreams(): Promise<void> {
    if (this.#streaming === undefined) {
      const server = new FakeStreamingServer(this);
      this.#streaming = { server, started: server.start() };
    }
    await this.#streaming.started;
  }

  /**
   * Returns the machine's current usage, including its containers. The CPU time since the last call is estimated from
   * the current CPU usage.
   */
  async #figures(): Promise<MachineFigures> {
    const { stats } = await this.runtime.listContainerStats({});
    const sum = (values: readonly (number | undefined)[]): number =>
      values.reduce<number>((total, value) => total + (value ?? 0), 0);
    const nanoCores = SYSTEM_CPU_NANO_CORES + sum(stats.map(({ cpu }) => cpu?.usageNanoCores?.value));
    const atMs = this.#clock.monotonic();
    const usedNs = this.#cpu.usedNs + (nanoCores * (atMs - this.#cpu.atMs)) / 1000;
    this.#cpu = { usedNs, atMs };
    return {
      ...this.#size,
      usedBytes: SYSTEM_MEMORY_BYTES + sum(stats.map(({ memory }) => memory?.workingSetBytes?.value)),
      cpuNs: usedNs,
      bootedAtMs: this.#bootedAtMs,
    };
  }
}

const CONTAINERS_DIRECTORY = '/var/lib/containers';

/** A file system whose kernel files ({@link machineTexts}) are generated when they are read. */
class MachineFiles extends MemoryFileSystem {
  readonly #figures: () => Promise<MachineFigures>;

  constructor(clock: Clock, figures: () => Promise<MachineFigures>) {
    super({ clock });
    this.#figures = figures;
  }

  override async readFile(path: string): Promise<Uint8Array> {
    const render = Object.hasOwn(machineTexts, path) ? machineTexts[path] : undefined;
    return render === undefined ? await super.readFile(path) : Buffer.from(render(await this.#figures()));
  }
}

/** Wraps a runtime so that its streams are opened before the first call that returns the URL of a stream. */
function withStreams(runtime: FakeRuntime, open: () => Promise<void>): RuntimeService & ImageService {
  const opening =
    <Request, Response>(call: (request: Request, signal?: AbortSignal) => Promise<Response>) =>
    async (request: Request, signal?: AbortSignal): Promise<Response> => {
      await open();
      return await call(request, signal);
    };
  const streams: Pick<RuntimeService, 'exec' | 'attach' | 'portForward'> = {
    exec: opening(runtime.exec),
    attach: opening(runtime.attach),
    portForward: opening(runtime.portForward),
  };
  return Object.assign(Object.create(runtime) as RuntimeService & ImageService, streams);
}
