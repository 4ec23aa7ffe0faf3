import { type Clock, sleep } from '@node-agent/async';
import { type FakeClaim, FakeDraPlugin } from '@node-agent/dra/testing';
import type { MemorySockets } from '@node-agent/grpc/testing';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import { DRA_DRIVER, type DraFaultCall, type DraFaultKind } from '../scenario/claim-plans.ts';
import { PLUGINS_DIRECTORY } from './csi-driver.ts';
import { createSocketFile, removeSocketFile } from './plugin-socket.ts';

/** Dependencies of {@link SimulatedDraDriver}. */
export interface DraDriverComponents {
  readonly clock: Clock;
  readonly fs: MemoryFileSystem;
  readonly sockets: MemorySockets;
  /** Returns the device that is allocated to a claim, as a driver reads it from the API server. */
  readonly deviceOf: (claim: string) => string | undefined;
  /** Called when a call reaches the driver, and when it takes effect. */
  readonly tell: (claim: string, call: DraFaultCall, phase: 'began' | 'acted' | 'answered') => void;
}

const WORK_MS = 20;

interface Answer {
  readonly error?: string;
  readonly devices?: object[];
}

/** Returns the CDI name of a device. */
function cdiName(device: string): string {
  return `example.com/device=${device}`;
}

/** The DRA driver of the machine. Like a real driver, the simulated driver survives the kubelet. */
export class SimulatedDraDriver {
  readonly #components: DraDriverComponents;
  readonly #plugin: FakeDraPlugin;
  readonly #socketPath = `${PLUGINS_DIRECTORY}/${DRA_DRIVER}.sock`;
  readonly #faults = new Map<DraFaultCall, DraFaultKind>();
  /** Prepared claims and their devices. */
  readonly #prepared = new Map<string, string>();
  /**
   * Completion of the last call for each claim: calls for one claim run one after another, as in upstream's helper for
   * drivers.
   */
  #ends = new Map<string, Promise<unknown>>();
  #curing = Promise.withResolvers<void>();
  #isRunning = false;
  #deaths = 0;

  constructor(components: DraDriverComponents) {
    this.#components = components;
    this.#plugin = new FakeDraPlugin({
      ...{ socketPath: this.#socketPath, transport: components.sockets },
      services: [foundPlugin({ type: 'DRAPlugin', name: DRA_DRIVER, versions: ['v1.DRAPlugin'] })],
      prepare: (claim) => this.#call('prepare', claim),
      unprepare: (claim) => this.#call('unprepare', claim),
    });
  }

  /** Names of the claims that are prepared now. */
  get prepared(): readonly string[] {
    return [...this.#prepared.keys()];
  }

  async start(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const deaths = this.#deaths;
    await this.#plugin.start();
    await createSocketFile(this.#components, this.#socketPath, () => deaths === this.#deaths);
  }

  /**
   * Kills the process of the driver.
   * @param clean whether the process removes its socket, as after SIGTERM
   */
  kill(clean: boolean): void {
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#deaths++;
    this.#ends = new Map();
    this.#plugin.stop();
    if (clean) void removeSocketFile(this.#components.fs, this.#socketPath);
  }

  /** Sets the fault of a call. `undefined` ends the fault, and calls that hang complete. */
  misbehave(call: DraFaultCall, fault: DraFaultKind | undefined): void {
    if (fault === undefined) this.#faults.delete(call);
    else this.#faults.set(call, fault);
    if (fault === undefined) this.#release();
  }

  /** Starts the process and ends all faults. */
  async cure(): Promise<void> {
    this.#faults.clear();
    this.#release();
    await this.start();
  }

  /** Ends the process and forgets what is prepared, because the machine is off. */
  powerOff(): void {
    this.kill(false);
    this.#prepared.clear();
  }

  #release(): void {
    this.#curing.resolve();
    this.#curing = Promise.withResolvers<void>();
  }

  async #call(call: DraFaultCall, { name }: FakeClaim): Promise<Answer> {
    const { tell } = this.#components;
    tell(name, call, 'began');
    const before = this.#ends.get(name) ?? Promise.resolve();
    const answer = before.then(() => this.#serve(call, name, this.#deaths));
    this.#ends.set(name, answer);
    return await answer;
  }

  async #serve(call: DraFaultCall, name: string, deaths: number): Promise<Answer> {
    const { clock, tell } = this.#components;
    await sleep(clock, WORK_MS);
    const fault = this.#faults.get(call);
    if (fault === 'hang') await this.#curing.promise;
    // A call to a process that has died neither takes effect nor gets a response.
    if (deaths !== this.#deaths) await new Promise<never>(() => {});
    if (fault === 'error') return { error: 'the device is broken' };
    const device = this.#effect(call, name);
    if (device === undefined) return { error: `claim ${name} is not allocated` };
    tell(name, call, 'acted');
    if (fault === 'lost') return { error: 'the result was lost' };
    tell(name, call, 'answered');
    if (call === 'unprepare') return {};
    return { devices: [{ poolName: 'node', deviceName: device, cdiDeviceIds: [cdiName(device)] }] };
  }

  /**
   * Performs a call for one claim.
   * @returns the device; `undefined` if the claim has none
   */
  #effect(call: DraFaultCall, name: string): string | undefined {
    if (call === 'unprepare') {
      const device = this.#prepared.get(name) ?? '';
      this.#prepared.delete(name);
      return device;
    }
    const device = this.#prepared.get(name) ?? this.#components.deviceOf(name);
    if (device !== undefined) this.#prepared.set(name, device);
    return device;
  }
}
