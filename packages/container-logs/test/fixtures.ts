import { FakeClock } from '@node-agent/async/testing';
import { type Container, ContainerState, type ContainerStatus, CriError, messages } from '@node-agent/cri-client';
import type { FileHandle } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { LogFields, Logger } from '@node-agent/telemetry';

export const DIRECTORY = '/var/log/pods/ns_web_uid/app';
export const LOG: string = `${DIRECTORY}/0.log`;

/**
 * A runtime that writes the log of one container. Like containerd, the runtime keeps the file open until
 * ReopenContainerLog.
 */
export class FakeRuntime {
  readonly clock: FakeClock = new FakeClock();
  readonly fs: MemoryFileSystem = new MemoryFileSystem({ clock: this.clock });
  readonly logged: (LogFields & { readonly message: string })[] = [];
  readonly calls: string[] = [];
  state: ContainerState = ContainerState.CONTAINER_RUNNING;
  /** Makes the next ReopenContainerLog fail, before or after it has reopened the file. */
  reopenFailure: 'before' | 'after' | undefined;
  statusFailure: CriError | undefined;
  #file: FileHandle | undefined;
  #lines = 0;

  async reopen(): Promise<void> {
    await this.#file?.close();
    await this.fs.mkdir(DIRECTORY);
    this.#file = await this.fs.open(LOG, 'a');
  }

  /** Writes lines as the container's output, and returns their contents. */
  async write(count: number, stream = 'stdout'): Promise<string[]> {
    if (!this.#file) await this.reopen();
    const contents = Array.from({ length: count }, () => `line ${++this.#lines}`);
    for (const content of contents) await this.writeRaw(`${this.time()} ${stream} F ${content}\n`);
    return contents;
  }

  async writeRaw(text: string): Promise<void> {
    if (!this.#file) await this.reopen();
    await this.#file?.append(new TextEncoder().encode(text));
  }

  time(): string {
    return new Date(this.clock.now()).toISOString();
  }

  readonly cri = {
    listContainers: async (): Promise<{ containers: Container[] }> => {
      this.calls.push('list');
      return { containers: [messages.Container.create({ id: 'c1', state: this.state })] };
    },
    containerStatus: async (): Promise<{ status: ContainerStatus; info: Record<string, string> }> => {
      this.calls.push('status');
      if (this.statusFailure) throw this.statusFailure;
      const status = messages.ContainerStatus.create({ id: 'c1', state: this.state, logPath: LOG });
      return { status, info: {} };
    },
    reopenContainerLog: async (): Promise<Record<string, never>> => {
      this.calls.push('reopen');
      const failure = this.reopenFailure;
      this.reopenFailure = undefined;
      if (failure !== 'before') await this.reopen();
      if (failure) throw new CriError({ rpc: 'ReopenContainerLog', code: 'UNAVAILABLE', details: failure });
      return {};
    },
  };

  readonly logger: Logger = ((): Logger => {
    const log = (fields: LogFields, message: string): void => void this.logged.push({ ...fields, message });
    return { trace: () => {}, debug: () => {}, info: log, warn: log, error: log, child: () => this.logger };
  })();

  async names(): Promise<string[]> {
    return (await this.fs.readdir(DIRECTORY)).map(({ name }) => name);
  }

  async size(name: string): Promise<number> {
    return (await this.fs.stat(`${DIRECTORY}/${name}`)).sizeBytes;
  }
}

export function text(chunks: readonly { readonly data: Uint8Array }[]): string {
  return chunks.map(({ data }) => new TextDecoder().decode(data)).join('');
}
