import { abortable, type Clock, sleep, untilAborted } from '@node-agent/async';
import { type GrpcTransport, service } from '@node-agent/grpc';
import type { FileSystem } from '@node-agent/host';
import { errorText, type Logger } from '@node-agent/telemetry';
import { registrationRpcs } from './generated/services.ts';
import type { RegisterRequest } from './generated/types.ts';
import { removeSockets } from './plugin-directory.ts';

/** Dependencies of a {@link RegistrationServer}. */
interface RegistrationServerParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fs: Pick<FileSystem, 'mkdir' | 'readdir' | 'remove' | 'stat'>;
  readonly transport: GrpcTransport;
  readonly labelForContainers: ((directory: string) => Promise<void>) | undefined;
  /** Registers a plugin. @throws GrpcError */
  readonly register: (request: RegisterRequest, signal: AbortSignal) => Promise<void>;
}

/** Name of the kubelet's socket in the plugin directory (`KubeletSocket`). */
const SOCKET_NAME = 'kubelet.sock';
const RETRY_MS = 5_000;

/** Server at which device plugins register (`plugin/v1beta1/server.go`). */
export class RegistrationServer {
  readonly #parts: RegistrationServerParts;
  readonly #directory: string;
  #lastError: string | undefined;
  readonly #listening = Promise.withResolvers<void>();

  constructor(parts: RegistrationServerParts, directory: string) {
    this.#parts = parts;
    this.#directory = directory;
  }

  /** Returns the current problem in upstream's wording; `undefined` if there is none. */
  health(): string | undefined {
    if (this.#lastError === undefined) return undefined;
    const what = 'device plugin registration gRPC server failed and no device plugins can register';
    return `device registration error: ${what}: ${this.#lastError}`;
  }

  /** Resolves when plugins can register. @throws the signal's reason */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#listening.promise, signal);
  }

  /** Listens until the signal is aborted; retries if listening fails. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger, fs, transport, register } = this.#parts;
    const answer = async (request: RegisterRequest, asking: AbortSignal): Promise<object> => {
      await register(request, asking);
      return {};
    };
    while (!signal.aborted) {
      const socketPath = `${this.#directory}/${SOCKET_NAME}`;
      const server = transport.server({ socketPath, services: [service(registrationRpcs, { register: answer })] });
      try {
        await fs.mkdir(this.#directory, { mode: 0o750 });
        await this.#label();
        await removeSockets(fs, this.#directory, { clock, logger });
        await server.start();
        this.#lastError = undefined;
        this.#listening.resolve();
        await untilAborted(signal);
      } catch (err) {
        this.#lastError = errorText(err);
        logger.error({ err }, 'Failed to listen to socket while starting device plugin registry');
        await sleep(clock, RETRY_MS, signal).catch(() => {});
      } finally {
        server.close();
      }
    }
  }

  /**
   * Sets the SELinux label of the plugin directory. A failure is only logged, because it affects only unprivileged
   * plugins.
   */
  async #label(): Promise<void> {
    try {
      await this.#parts.labelForContainers?.(this.#directory);
    } catch (err) {
      const message = 'Unprivileged containerized plugins might not work. Could not set selinux context on socket dir';
      this.#parts.logger.error({ err, path: this.#directory }, message);
    }
  }
}
