import { abortable, type Clock, Semaphore } from '@node-agent/async';
import type { FileStat, HeldPlace, HoldOptions } from '../file-system.ts';
import { HELPER_THREADS, type Helper } from '../helper/helper-process.ts';
import type { FileSystemSize, HelperCallName, HelperCalls } from '../helper/protocol.ts';
import { errorCode, systemError } from '../system-error.ts';
import { CallsHere } from './calls-here.ts';
import type { ForeignFiles } from './foreign-files.ts';
import { isOld, mayAsk, placeOf, type Suspicion, suspect } from './hang-rule.ts';
import { kernelPath } from './kernel-path.ts';
import { isKernelServed } from './kernel-served.ts';
import type { MountTable } from './mount-table.ts';

/** What {@link GuardedFiles} works with. */
export interface GuardedFilesComponents {
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  readonly startHelper: () => Helper;
  /** What is mounted where, as far as the machine knows without asking it. */
  readonly mounts: () => Promise<MountTable>;
  /** What this process asks file systems that the kernel serves by itself. Default: nothing, a helper process is asked. */
  readonly here?: KernelFiles;
}

/** What does not wait for anybody, of a file system that the kernel serves by itself. */
export interface KernelFiles {
  statfs(path: string): Promise<FileSystemSize>;
  /** `undefined` for what is no link. */
  readLink(path: string): Promise<string | undefined>;
}

export interface GuardedFilesOptions {
  /** How long a call may take. Default: 10,000. */
  readonly deadlineMs?: number;
  /** How many helpers there may be that were killed and did not end, before nothing is asked any more. Default: 8. */
  readonly maxAbandoned?: number;
  /** How many calls may be under way, the others wait. Default: 32, the threads of a helper. */
  readonly maxCalls?: number;
  /** How many of them to one place. Default: 4. */
  readonly maxCallsPerPlace?: number;
}

interface Running {
  readonly helper: Helper;
  calls: number;
  /** Something in it hangs, or it ends: it is asked nothing more, and killed once nobody waits for it. */
  retired: boolean;
}

/**
 * {@link ForeignFiles} through a helper process, started with the first call, which ends by itself when it is asked for
 * nothing; only how full a disk of the machine is is asked without one. A call that hangs costs that process: the next has another one. A place that did not answer is asked again later
 * and later, by one call at a time; a helper that cannot be killed, as its call sleeps in the kernel for good, is abandoned,
 * and there may be few of them.
 */
export class GuardedFiles implements ForeignFiles {
  readonly #components: GuardedFilesComponents;
  readonly #options: Required<GuardedFilesOptions>;
  readonly #suspicions = new Map<string, Suspicion>();
  readonly #places = new Map<string, Semaphore>();
  readonly #calls: Semaphore;
  readonly #callsHere: CallsHere;
  #running: Running | undefined;
  #dying = 0;

  constructor(components: GuardedFilesComponents, options: GuardedFilesOptions = {}) {
    this.#components = components;
    this.#options = { deadlineMs: 10_000, maxAbandoned: 8, maxCalls: HELPER_THREADS, maxCallsPerPlace: 4, ...options };
    this.#calls = new Semaphore(this.#options.maxCalls);
    this.#callsHere = new CallsHere(components.clock, this.#options.deadlineMs);
  }

  /** Helpers that were killed and have not ended. */
  get abandoned(): number {
    return this.#dying;
  }

  /** Places that did not answer, and of which that still counts. */
  get suspected(): number {
    return this.#suspicions.size;
  }

  stat(path: string, signal?: AbortSignal): Promise<FileStat> {
    return this.#guarded('stat', [path], signal);
  }

  lstat(path: string, signal?: AbortSignal): Promise<FileStat> {
    return this.#guarded('lstat', [path], signal);
  }

  realpath(path: string, signal?: AbortSignal): Promise<string> {
    return this.#guarded('realpath', [path], signal);
  }

  statfs(path: string, signal?: AbortSignal): Promise<FileSystemSize> {
    return this.#guarded('statfs', [path], signal, path, (place, mounts) => this.#statfsHere(path, place, mounts));
  }

  async makeDirectory(path: string, mode: number, signal?: AbortSignal): Promise<void> {
    await this.#guarded('makeDirectory', [path, mode], signal);
  }

  async makeFile(path: string, signal?: AbortSignal): Promise<void> {
    await this.#guarded('makeFile', [path], signal);
  }

  async holdBeneath(
    directory: string,
    path: string,
    { makeDirectories = false }: HoldOptions = {},
    signal?: AbortSignal,
  ): Promise<HeldPlace> {
    const { id, handle, stat } = await this.#guarded(
      'holdBeneath',
      [directory, path, makeDirectories ? 1 : 0],
      signal,
      `${directory}/${path}`,
    );
    // Only whoever holds it knows it: one that has ended holds nothing.
    const close = async (): Promise<void> => {
      await this.#running?.helper.call('release', [id]).catch(() => undefined);
    };
    return { handle, stat, close };
  }

  async #guarded<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    signal: AbortSignal | undefined,
    path: string = args[0],
    askHere?: (place: string, mounts: MountTable) => Promise<HelperCalls[Name]['value'] | undefined>,
  ): Promise<HelperCalls[Name]['value']> {
    signal?.throwIfAborted();
    const mounts = await this.#components.mounts();
    const place = placeOf(path, mounts.points);
    const ask = async () => (await askHere?.(place, mounts)) ?? (await this.#inTurn(name, args, place));
    // Goes on to its end, or its deadline, when nobody waits for it any more: it holds a thread until then.
    const answer = ask();
    answer.catch(() => undefined);
    return await (signal === undefined ? answer : abortable(answer, signal));
  }

  /** @returns `undefined` where a helper is to be asked */
  async #statfsHere(path: string, place: string, mounts: MountTable): Promise<FileSystemSize | undefined> {
    const { here, clock } = this.#components;
    if (here === undefined || this.#suspicions.has(place) || !isKernelServed(mounts.of(path)?.type)) return undefined;
    const call = async (): Promise<FileSystemSize | undefined> => {
      const real = await kernelPath(path, mounts, (place) => here.readLink(place));
      return real === undefined ? undefined : await here.statfs(real);
    };
    try {
      return await this.#callsHere.run(place, call, () => {
        this.#suspectPlace(place, clock.monotonic());
        return this.#late('statfs', path);
      });
    } catch (error) {
      const code = errorCode(error);
      // As a helper tells it, whatever step of the way it was.
      throw code === undefined || code === 'ETIMEDOUT' ? error : systemError(code, 'statfs', path);
    }
  }

  async #inTurn<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
  ): Promise<HelperCalls[Name]['value']> {
    const turns = this.#places.get(place) ?? new Semaphore(this.#options.maxCallsPerPlace);
    this.#places.set(place, turns);
    this.#check(place, turns.active, name, args[0]);
    const turn = await turns.acquire();
    try {
      using _call = await this.#calls.acquire();
      // While it waited, another may have found out.
      this.#check(place, turns.active - 1, name, args[0]);
      return await this.#answer(name, args, place);
    } finally {
      turn[Symbol.dispose]();
      if (turns.active === 0) this.#places.delete(place);
    }
  }

  /** @throws ETIMEDOUT, EAGAIN, where it is not to be asked now */
  #check(place: string, underWay: number, name: string, path: string): void {
    const nowMs = this.#components.clock.monotonic();
    const suspicion = this.#suspicions.get(place);
    if (suspicion !== undefined && !mayAsk(suspicion, underWay, nowMs)) {
      const inSeconds = Math.max(Math.ceil((suspicion.refusedUntilMs - nowMs) / 1000), 1);
      const detail = `its file system did not answer; it is asked again in ${inSeconds} s at the earliest`;
      throw systemError('ETIMEDOUT', name, path, detail);
    }
    if (this.#dying >= this.#options.maxAbandoned) {
      throw systemError('EAGAIN', name, path, `${this.#dying} processes hang in calls like it, and cannot be killed`);
    }
  }

  async #answer<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
  ): Promise<HelperCalls[Name]['value']> {
    try {
      return await this.#ask(name, args, place);
    } catch (error) {
      // It ended in the same instant, having had nothing to do for a while: another one is asked.
      if (errorCode(error) !== 'ESRCH') throw error;
      return await this.#ask(name, args, place);
    }
  }

  async #ask<Name extends HelperCallName>(
    name: Name,
    args: HelperCalls[Name]['args'],
    place: string,
  ): Promise<HelperCalls[Name]['value']> {
    const { clock } = this.#components;
    const { deadlineMs } = this.#options;
    const running = this.#helper();
    running.calls++;
    const late = Promise.withResolvers<never>();
    const timer = clock.setTimer(deadlineMs, () => {
      this.#suspectPlace(place, clock.monotonic());
      this.#retire(running);
      late.reject(this.#late(name, args[0]));
    });
    try {
      const value = await Promise.race([running.helper.call(name, args), late.promise]);
      this.#suspicions.delete(place);
      return value;
    } catch (error) {
      const code = errorCode(error);
      // Its channel closes before its end is heard.
      if (code === 'ESRCH') this.#retire(running);
      // What was refused was answered.
      else if (code !== 'ETIMEDOUT') this.#suspicions.delete(place);
      throw error;
    } finally {
      timer.cancel();
      running.calls--;
      this.#endIfIdle(running);
    }
  }

  #late(name: string, path: string): Error {
    const seconds = this.#options.deadlineMs / 1000;
    return systemError('ETIMEDOUT', name, path, `its file system did not answer within ${seconds} s`);
  }

  /** Of places that nobody asks for any more, as pods come and go, nothing is kept. */
  #suspectPlace(place: string, nowMs: number): void {
    for (const [other, suspicion] of this.#suspicions) if (isOld(suspicion, nowMs)) this.#suspicions.delete(other);
    this.#suspicions.set(place, suspect(this.#suspicions.get(place), nowMs));
  }

  #helper(): Running {
    if (this.#running !== undefined) return this.#running;
    const running: Running = { helper: this.#components.startHelper(), calls: 0, retired: false };
    this.#running = running;
    void running.helper.ended.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  #retire(running: Running): void {
    running.retired = true;
    if (this.#running === running) this.#running = undefined;
  }

  #endIfIdle({ retired, calls, helper }: Running): void {
    if (!retired || calls > 0) return;
    this.#dying++;
    void helper.ended.then(() => {
      this.#dying--;
    });
    helper.kill();
  }
}
