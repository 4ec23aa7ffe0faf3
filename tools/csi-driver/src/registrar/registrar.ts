import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GrpcClient, GrpcServer } from '@node-agent/grpc';
import { foundPlugin } from '@node-agent/plugin-watcher/testing';
import type { Logger } from '@node-agent/telemetry';
import { identityRpcs } from '../generated/services.ts';
import type { RegistrarOptions } from './registrar-options.ts';

/** Time limit of one attempt to ask the driver for its name, in ms. */
const ASK_MS = 5_000;
const RETRY_MS = 200;
/** CSI versions that are announced, as the node-driver-registrar does. */
const VERSIONS = ['1.0.0'];

/**
 * Announces a CSI driver to the kubelet: asks the driver for its name, and serves `pluginregistration/v1` on a socket in
 * the directory that the kubelet watches.
 */
export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #logger: Logger;
  /**
   * Called with the kubelet's error if the kubelet rejects the registration. The node-driver-registrar then exits, and
   * is restarted.
   */
  readonly #onRefused: (error: string) => void;
  #server: GrpcServer | undefined;
  #socketPath = '';

  constructor(options: RegistrarOptions, logger: Logger, onRefused: (error: string) => void) {
    this.#options = options;
    this.#logger = logger;
    this.#onRefused = onRefused;
  }

  /** Waits for the driver and announces it. @throws the signal's reason */
  async start(signal: AbortSignal): Promise<void> {
    const { kubeletSocketPath, registrationDirectory } = this.#options;
    const name = await this.#driverName(signal);
    await mkdir(registrationDirectory, { recursive: true });
    this.#socketPath = join(registrationDirectory, `${name}-reg.sock`);
    await rm(this.#socketPath, { force: true });
    const onStatus = (error: string | undefined): void => {
      if (error === undefined) this.#logger.info({ driver: name }, 'The kubelet registered the driver');
      else this.#onRefused(error);
    };
    const plugin = { type: 'CSIPlugin', name, versions: VERSIONS, endpoint: kubeletSocketPath, onStatus };
    this.#server = new GrpcServer({ socketPath: this.#socketPath, services: [foundPlugin(plugin)] });
    await this.#server.start();
  }

  /** Removes the socket, so that the kubelet deregisters the driver. */
  async stop(): Promise<void> {
    this.#server?.close();
    if (this.#socketPath !== '') await rm(this.#socketPath, { force: true });
  }

  async #driverName(signal: AbortSignal): Promise<string> {
    for (;;) {
      signal.throwIfAborted();
      const client = new GrpcClient({}, { socketPath: this.#options.csiSocketPath });
      try {
        const { name } = await client.unary(identityRpcs.getPluginInfo, {}, { timeoutMs: ASK_MS, signal });
        if (name === '') throw new Error('GetPluginInfo returned no name');
        return name;
      } catch (error) {
        signal.throwIfAborted();
        this.#logger.info({ reason: String(error) }, 'The driver does not answer yet');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      } finally {
        client.close();
      }
    }
  }
}
