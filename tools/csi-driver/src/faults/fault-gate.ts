import { GrpcError } from '@node-agent/grpc';
import { isMissing, nodeFileSystem, readFileBounded } from '@node-agent/host';
import { type Control, type FaultPoint, type FaultRule, NO_CONTROL, parseControl } from './control-file.ts';
import { afterUse, type CallPoint, faultFor, isReleased } from './fault-rules.ts';

const MAX_BYTES = 1 << 20;
/** Interval at which a hanging call checks whether its rule is still in the file. */
const HANG_PERIOD_MS = 50;

/** Reads the control file at each point of each call, and injects the faults that the file describes. */
export class FaultGate {
  readonly #path: string;
  /** Last use of a rule. Each use changes the control file, so uses must follow one another. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param path path of the control file; '' for none */
  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the content of the control file. @throws Error that names the file and the field */
  async control(): Promise<Control> {
    if (this.#path === '') return NO_CONTROL;
    try {
      return parseControl(Buffer.from(await readFileBounded(nodeFileSystem, this.#path, MAX_BYTES)).toString());
    } catch (error) {
      if (isMissing(error)) return NO_CONTROL;
      throw new Error(`read ${this.#path}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }

  /**
   * Injects the fault of a call, if there is one. @returns whether the response must be garbage
   * @throws GrpcError of the fault
   */
  async pass(rpc: string, volumeId: string, at: FaultPoint): Promise<boolean> {
    const fault = await this.#use({ rpc, volumeId, at });
    if (fault === undefined) return false;
    if (fault.delayMs !== undefined) await pause(fault.delayMs);
    while (fault.hang && !isReleased(await this.control(), fault)) await pause(HANG_PERIOD_MS);
    if (fault.die) process.kill(process.pid, 'SIGKILL');
    const { code, message: details = 'injected fault' } = fault;
    if (code !== undefined) throw new GrpcError({ code, details });
    return fault.garbage ?? false;
  }

  #use(call: CallPoint): Promise<FaultRule | undefined> {
    const use = async (): Promise<FaultRule | undefined> => {
      const control = await this.control();
      const fault = faultFor(control, call);
      if (fault?.times !== undefined) {
        await nodeFileSystem.writeFileAtomic(this.#path, JSON.stringify(afterUse(control, fault)));
      }
      return fault;
    };
    const used = this.#last.then(use, use);
    this.#last = used.catch(() => {});
    return used;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
