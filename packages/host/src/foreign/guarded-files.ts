import { abortable, type Clock, checkNumbers, Semaphore } from '@node-agent/async';
import type { FileStat, HeldPlace, HoldOptions } from '../file-system.ts';
import { HELPER_THREADS, type Helper } from '../helper/helper-process.ts';
import type { FileSystemSize, HelperCallName, HelperCalls } from '../helper/protocol.ts';
import { errorCode, systemError } from '../system-error.ts';
import { CallsHere } from './calls-here.ts';
import type { ForeignFiles } from './foreign-files.ts';
import { isOld, mayAsk, placeOf, type Suspicion, suspect } from './hang-rule.ts';
import { type Held, HelperPool } from './helper-pool.ts';
import { kernelPath } from './kernel-path.ts';
import { isKernelServed } from './kernel-served.ts';
import type { Mounts } from './mount-table.ts';

/** Components of {@link GuardedFiles}. */
export interface GuardedFilesComponents {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly startHelper: () => Helper;
  /** Returns the mount table, read without calling any mounted file system. */
  readonly mounts: () => Promise<Mounts>;
  /**
   * Calls that this process makes itself to file systems that the kernel serves from memory. If absent, all calls use a
   * helper process.
   */
  readonly here?: KernelServedFiles;
}

/** Calls that do not block, for file systems that the kernel serves from memory. */
export interface KernelServedFiles {
  statfs(path: string): Promise<FileSystemSize>;
  /** Returns the target of a symlink; `undefined` if the path is not a symlink. */
  readLink(path: string): Promise<string | undefined>;
}

export interface GuardedFilesOptions {
  /** Deadline of a call, in milliseconds. Default: 10,000. */
  readonly deadlineMs?: number;
  /** Number of killed helpers that have not exited at which further calls are refused. Default: 8. */
  readonly maxAbandoned?: number;
  /** Largest number of concurrent calls; further calls wait. Default: 32, the number of a helper's threads. */
  readonly maxCalls?: number;
  /** Largest number of concurrent calls to one place. Default: 4. */
  readonly maxCallsPerPlace?: number;
}

/**
 * Implements {@link ForeignFiles} with a helper process. The helper is started at the first call and exits when it is
 * idle. Only the usage of a local disk is read without a helper. A call that hangs costs the helper process: later
 * calls use a new one. A file system that did not respond is called again with growing delays, one call at a time. No
 * call is made while a helper that hangs in the file system cannot be killed. The number of helpers that hang and
 * cannot be killed is limited.
 */
export class GuardedFiles implements ForeignFiles {
  readonly #components: GuardedFilesComponents;
  readonly #options: Required<GuardedFilesOptions>;
  readonly #suspicions = new Map<string, Suspicion>();
  readonly #places = new Map<string, Semaphore>();
  readonly #calls: Semaphore;
  readonly #callsHere: CallsHere;
  readonly #helpers: HelperPool;

  constructor(components: GuardedFilesComponents, options: GuardedFilesOptions = {}) {
    this.#components = components;
    this.#options = { deadlineMs: 10_000, maxAbandoned: 8, maxCalls: HELPER_THREADS, maxCallsPerPlace: 4, ...options };
    checkNumbers(this.#options, {
      deadlineMs: 'positive',
      maxAbandoned: 'count',
      maxCalls: 'limit',
      maxCallsPerPlace: 'limit',
    });
    this.#calls = new Semaphore(this.#options.maxCalls);
    this.#helpers = new HelperPool(components, this.#options.deadlineMs);
    this.#callsHere = new CallsHere(components.clock, this.#options.deadlineMs);
  }

  /** Number of helpers that were killed but have not exited. */
  get abandoned(): number {
    return this.#helpers.abandoned;
  }

  /** Number of places ({@link placeOf}) that did not respond and still count as suspected. */
  get suspected(): number {
    return this.#suspicions.size;
  }

  /** Number of places with running or waiting calls. */
  get busyPlaces(): number {
    return this.#places.size;
  }

  stat(path: string, signal?: AbortSignal): Promise<FileStat> {
    return this.#call('stat', [path], signal);
  }

  lstat(path: string, signal?: AbortSignal): Promise<FileStat> {
    return this.#call('lstat', [path], signal);
  }

  realpath(path: string, signal?: AbortSignal): Promise<string> {
    return this.#call('realpath', [path], signal);
  }

  statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize> {
    const askHelper = (place: string) => this.#ask('statfs', [path], place);
    return this.#guarded(path, signal, async (place, mounts) => {
      return (await this.#statfsHere(path, place, mounts)) ?? (await this.#inTurn('statfs', path, place, askHelper));
    });
  }

  async makeDirectory(path: string, mode: number, signal?: AbortSignal): Promise<void> {
    await this.#call('makeDirectory', [path, mode], signal);
  }

  async makeFile(path: string, signal?: AbortSignal): Promise<void> {
    await this.#call('makeFile', [path], signal);
  }

  isDeviceInUse(path: string, signal?: AbortSignal): Promise<boolean> {
    // All devices are in one file system, whose other files must stay usable.
    const ask = (): Promise<boolean> => this.#ask('isDeviceInUse', [path], path);
    return this.#guarded(path, signal, () => this.#inTurn('isDeviceInUse', path, path, ask));
  }

  async holdBeneath(
    directory: string,
    path: string,
    { makeDirectories = false }: HoldOptions = {},
    signal?: AbortSignal,
  ): Promise<HeldPlace> {
    const args = [directory, path, makeDirectories ? 1 : 0] as const;
    const { value, release } = await this.#guarded(`${directory}/${path}`, signal, async (place) => {
      const held = await this.#inTurn('holdBeneath', directory, place, () => this.#hold(args, place));
      // The caller has aborted and will not release the held file, so the file is released here.
      if (signal?.aborted) await held.release();
      return held;
    });
    return { handle: value.handle, stat: value.stat, close: release };
  }

  #call<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    signal: AbortSignal | undefined,
  ): Promise<HelperCalls[Name]['value']> {
    return this.#guarded(args[0], signal, (place) =>
      this.#inTurn(name, args[0], place, () => this.#ask(name, args, place)),
    );
  }

  async #guarded<T>(
    path: string,
    signal: AbortSignal | undefined,
    ask: (place: string, mounts: Mounts) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const mounts = await this.#components.mounts();
    // The call continues until it ends or its deadline passes, even if no caller waits any more, because it occupies a
    // thread.
    const answer = ask(placeOf(path, mounts.points), mounts);
    answer.catch(() => undefined);
    return await (signal === undefined ? answer : abortable(answer, signal));
  }

  /**
   * Returns the size of a file system, read in this process; `undefined` if a helper process must read it.
   * @returns `undefined` if a helper must be used
   */
  async #statfsHere(path: string, place: string, mounts: Mounts): Promise<FileSystemSize | undefined> {
    const { here } = this.#components;
    if (here === undefined || this.#suspicions.has(place) || !isKernelServed(mounts.of(path)?.type)) return undefined;
    const call = async (): Promise<FileSystemSize | undefined> => {
      const real = await kernelPath(path, mounts, (place) => here.readLink(place));
      return real === undefined ? undefined : await here.statfs(real);
    };
    try {
      return await this.#callsHere.run(place, call, () => this.#late('statfs', path, place));
    } catch (error) {
      const code = errorCode(error);
      // Reports an error of any step as an error of `statfs`, as a helper process does.
      throw code === undefined || code === 'ETIMEDOUT' ? error : systemError(code, 'statfs', path);
    }
  }

  async #inTurn<T>(name: string, path: string, place: string, ask: (place: string) => Promise<T>): Promise<T> {
    const turns = this.#places.get(place) ?? new Semaphore(this.#options.maxCallsPerPlace);
    this.#check(place, turns.active, name, path);
    this.#places.set(place, turns);
    const turn = await turns.acquire();
    try {
      using _call = await this.#calls.acquire();
      // While this call waited, another call may have found that the place hangs.
      this.#check(place, turns.active - 1, name, path);
      return await ask(place);
    } finally {
      turn[Symbol.dispose]();
      if (turns.active === 0) this.#places.delete(place);
    }
  }

  /** Checks that a call to the place may be made now. @throws ETIMEDOUT or EAGAIN if no call may be made */
  #check(place: string, underWay: number, name: string, path: string): void {
    const nowMs = this.#components.clock.monotonic();
    const suspicion = this.#suspicions.get(place);
    if (suspicion !== undefined && !mayAsk(suspicion, underWay, nowMs)) {
      const inSeconds = Math.max(Math.ceil((suspicion.refusedUntilMs - nowMs) / 1000), 1);
      const detail = `its file system did not answer; the next attempt is in ${inSeconds} s at the earliest`;
      throw systemError('ETIMEDOUT', name, path, detail);
    }
    // A place in which a helper process still hangs gets no further call, so that one place cannot use up all helpers.
    if (this.#helpers.isStuck(place)) {
      throw systemError(
        'ETIMEDOUT',
        name,
        path,
        'its file system did not answer; the helper process of the earlier call still hangs',
      );
    }
    const { abandoned } = this.#helpers;
    if (abandoned >= this.#options.maxAbandoned) {
      throw systemError('EAGAIN', name, path, `${abandoned} helper processes hang in such calls and cannot be killed`);
    }
  }

  #ask<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
  ): Promise<HelperCalls[Name]['value']> {
    return this.#judged(
      place,
      this.#helpers.ask(name, args, place, () => this.#late(name, args[0], place)),
    );
  }

  #hold(args: HelperCalls['holdBeneath']['args'], place: string): Promise<Held> {
    return this.#judged(
      place,
      this.#helpers.hold(args, place, () => this.#late('holdBeneath', args[0], place)),
    );
  }

  /** Clears the suspicion of a place that responds. An error from the file system is also a response. */
  async #judged<T>(place: string, answer: Promise<T>): Promise<T> {
    try {
      const value = await answer;
      this.#suspicions.delete(place);
      return value;
    } catch (error) {
      if (!['ETIMEDOUT', 'ESRCH'].includes(errorCode(error) ?? '')) this.#suspicions.delete(place);
      throw error;
    }
  }

  #late(name: string, path: string, place: string): Error {
    this.#suspectPlace(place, this.#components.clock.monotonic());
    const seconds = this.#options.deadlineMs / 1000;
    return systemError('ETIMEDOUT', name, path, `its file system did not answer within ${seconds} s`);
  }

  /** Drops old states, so that places of deleted pods do not accumulate. */
  #suspectPlace(place: string, nowMs: number): void {
    for (const [other, suspicion] of this.#suspicions) if (isOld(suspicion, nowMs)) this.#suspicions.delete(other);
    this.#suspicions.set(place, suspect(this.#suspicions.get(place), nowMs));
  }
}
