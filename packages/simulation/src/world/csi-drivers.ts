import type { Clock } from '@node-agent/async';
import type { MemorySockets } from '@node-agent/grpc/testing';
import type { MemoryFileSystem } from '@node-agent/host/testing';
import type { MemoryMounter } from '@node-agent/volumes/testing';
import type { CsiFaultCall, CsiFaultKind, CsiPlan } from '../scenario/volume-plans.ts';
import { type CsiCall, type CsiCallPhase, SimulatedCsiDriver } from './csi-driver.ts';

/** Dependencies of {@link CsiDrivers}. */
export interface CsiDriversComponents {
  readonly clock: Clock;
  readonly fs: MemoryFileSystem;
  readonly mounter: MemoryMounter;
  readonly sockets: MemorySockets;
  /** Called for each step of each call. `code` is the result, if there is one. */
  readonly tell: (call: CsiCall, phase: CsiCallPhase, code?: string) => void;
}

/** A volume at a path, according to its driver. */
export interface CsiPlace {
  readonly volume: string;
  readonly path: string;
}

/** The CSI drivers of the machine. Like real drivers, the simulated drivers survive the kubelet. */
export class CsiDrivers {
  readonly #drivers: ReadonlyMap<string, SimulatedCsiDriver>;

  constructor(components: CsiDriversComponents, plan: CsiPlan) {
    this.#drivers = new Map(plan.drivers.map((one) => [one.name, new SimulatedCsiDriver(components, one)]));
  }

  /** The volumes that are staged now, with their paths. */
  get staged(): readonly CsiPlace[] {
    return this.#all.flatMap(({ staged }) => staged);
  }

  /** The volumes that are published now, with their paths. */
  get published(): readonly CsiPlace[] {
    return this.#all.flatMap(({ published }) => published);
  }

  get #all(): readonly SimulatedCsiDriver[] {
    return [...this.#drivers.values()];
  }

  /** Starts all processes that do not run. */
  async start(): Promise<void> {
    for (const driver of this.#all) await driver.start();
  }

  /** Kills the driver's process until {@link restart} is called. */
  kill(name: string, clean: boolean): void {
    this.#drivers.get(name)?.kill(clean);
  }

  async restart(name: string): Promise<void> {
    await this.#drivers.get(name)?.start();
  }

  /** Sets the fault of a call. `undefined` ends the fault, and calls that hang complete. */
  misbehave(name: string, call: CsiFaultCall, fault: CsiFaultKind | undefined): void {
    this.#drivers.get(name)?.misbehave(call, fault);
  }

  /** Starts all drivers and ends all faults. */
  async cure(): Promise<void> {
    for (const driver of this.#all) await driver.cure();
  }

  /** Ends all driver processes and removes all their mounts, because the machine is off. */
  async powerOff(): Promise<void> {
    for (const driver of this.#all) await driver.powerOff();
  }
}
