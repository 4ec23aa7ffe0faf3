import { basename, join } from 'node:path';
import { abortable } from '@node-agent/async';
import type { FileSystem } from '@node-agent/host';
import { errorText } from '@node-agent/telemetry';
import { VolumeError } from '../errors.ts';
import type { UnansweredCalls } from '../manager/unanswered-calls.ts';
import {
  type DriverResult,
  type DriverStatus,
  driverStatus,
  type FlexCapabilities,
  NOT_SUPPORTED,
} from './driver-status.ts';

/** Command of a driver (`pkg/volume/flexvolume/driver-call.go`). */
export type FlexCommand =
  | 'init'
  | 'getvolumename'
  | 'waitforattach'
  | 'mountdevice'
  | 'unmountdevice'
  | 'mount'
  | 'unmount'
  | 'expandfs';

/** Port that runs the programs of drivers. */
export interface FlexPrograms {
  /**
   * Runs a program and waits until it exits. @param subject object that the program acts on, for example a volume's
   * path; another program for this subject is refused while a killed program has not exited. @throws Error if the
   * program did not finish in time; the signal's reason
   */
  run(path: string, args: readonly string[], subject: string, signal: AbortSignal): Promise<DriverResult>;
}

/** Dependencies of {@link FlexDriver}. */
export interface FlexDriverComponents {
  readonly fs: Pick<FileSystem, 'stat'>;
  readonly programs: FlexPrograms;
  readonly calls: UnansweredCalls;
}

/**
 * A flexVolume driver: a program in its own directory. Commands for different volumes do not wait for each other (W6).
 */
export class FlexDriver {
  /** Name of the driver: `vendor/driver`, or `driver`. */
  readonly name: string;
  readonly #components: FlexDriverComponents;
  readonly #program: string;
  /** Identifies the program's version. */
  #version: string | undefined;
  /** Commands that the driver does not implement. */
  #unsupported = new Set<FlexCommand>();
  #capabilities: Promise<FlexCapabilities> | undefined;

  /** @param directory directory of the driver: `vendor~driver`, or `driver` */
  constructor(components: FlexDriverComponents, directory: string) {
    this.#components = components;
    this.name = basename(directory).replaceAll('~', '/');
    this.#program = join(directory, this.name.split('/').at(-1) ?? '');
  }

  /**
   * Queries the capabilities again if the driver's program was replaced. Returns whether the driver has a valid name
   * and a program.
   */
  async refresh(): Promise<boolean> {
    const stat = await this.#components.fs.stat(this.#program).catch(() => undefined);
    const isValid = stat?.kind === 'file' && this.name.split('/').every((part) => !['', '.', '..'].includes(part));
    const version = isValid ? `${stat.device} ${stat.inode} ${stat.modifiedAtMs} ${stat.sizeBytes}` : undefined;
    if (version !== this.#version) {
      this.#unsupported = new Set();
      this.#capabilities = undefined;
    }
    this.#version = version;
    return version !== undefined;
  }

  /**
   * Returns the capabilities that the driver reports for `init`. @throws VolumeError `DriverFailed`; the next call runs
   * `init` again
   */
  async capabilities(signal: AbortSignal): Promise<FlexCapabilities> {
    // Several pods may wait for the same `init`, so it is not aborted when the first pod stops waiting.
    const asking = this.#capabilities ?? this.#ask(new AbortController().signal);
    this.#capabilities = asking;
    try {
      return await abortable(asking, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (this.#capabilities === asking) this.#capabilities = undefined;
      throw error;
    }
  }

  /**
   * Runs a command. @param subject the volume's path or name, which identifies the volume
   * @returns `NOT_SUPPORTED` if the driver does not implement the command
   * @throws VolumeError `DriverFailed`
   */
  async call(
    command: FlexCommand,
    args: readonly string[],
    subject: string,
    signal: AbortSignal,
  ): Promise<DriverStatus | typeof NOT_SUPPORTED> {
    const unsupported = this.#unsupported;
    if (unsupported.has(command)) return NOT_SUPPORTED;
    const { programs, calls } = this.#components;
    const run = (): Promise<DriverResult> => programs.run(this.#program, [command, ...args], subject, signal);
    const what = `${command} of flexVolume driver ${this.name}`;
    const result = await calls.during(subject, what, run).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new VolumeError('DriverFailed', `${what}: ${errorText(error)}`, error);
    });
    const status = driverStatus(this.name, command, result);
    if (status === NOT_SUPPORTED) unsupported.add(command);
    return status;
  }

  async #ask(signal: AbortSignal): Promise<FlexCapabilities> {
    const status = await this.call('init', [], this.#program, signal);
    if (status !== NOT_SUPPORTED) return status.capabilities;
    throw new VolumeError('DriverFailed', `init command of flexVolume driver ${this.name}: ${NOT_SUPPORTED}`);
  }
}
