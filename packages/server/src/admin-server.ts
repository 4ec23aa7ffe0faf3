import { type Clock, checkComponents, checkOptions, StartOnce } from '@node-agent/async';
import { type Logger, type Metrics, withDefaults } from '@node-agent/telemetry';
import type { Authenticator } from './access/authentication.ts';
import { alwaysAllow } from './access/authorization.ts';
import type { UserInfo } from './access/user.ts';
import type { Endpoints, UpgradeEndpoints } from './endpoints/call.ts';
import { ServerError } from './errors.ts';
import { socketPathProblem } from './listen/socket-file.ts';
import { SocketListener } from './listen/socket-listener.ts';
import { RequestRouter } from './request-router.ts';

/** The components of {@link AdminServer}. */
export interface AdminServerComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly metrics?: Metrics;
  /** The handlers by endpoint name, usually the same as those of the {@link SecuredServer}. */
  readonly endpoints: Endpoints;
  /** The handlers that take over upgraded connections. */
  readonly upgrades?: UpgradeEndpoints;
}

export interface AdminServerOptions {
  /** The absolute path of the socket. Its directory must have mode 0700; a missing directory is created. */
  readonly path: string;
  /** Called when the server accepts connections. */
  readonly onListening?: () => void;
}

/** The user of every request on the socket: only root may open the socket. */
const ROOT: UserInfo = { name: 'root', groups: ['system:masters', 'system:authenticated'] };

const rootOnly: Authenticator = { identify: async () => ({ user: ROOT }) };

/**
 * Serves the routes of the secured port on a unix socket that only the user of this process may open, without TLS and
 * without an API server. All endpoints are served, also if the configuration's `enableDebuggingHandlers` is false: that
 * field disables endpoints only for clients on the network. Upstream has no such socket.
 */
export class AdminServer {
  readonly #options: AdminServerOptions;
  readonly #router: RequestRouter;
  readonly #listener: SocketListener;
  readonly #startOnce = new StartOnce('AdminServer');

  /** @throws ServerError `InvalidOptions` if the path cannot be the path of a unix socket */
  constructor(given: AdminServerComponents, options: AdminServerOptions) {
    checkOptions('AdminServer', options, { path: 'string', onListening: 'function?' });
    checkComponents('AdminServer', given, { endpoints: [] });
    const problem = socketPathProblem(options.path);
    if (problem !== undefined) throw new ServerError('InvalidOptions', `admin socket ${options.path}: ${problem}`);
    const components = { ...withDefaults(given), authentication: rootOnly, authorization: alwaysAllow };
    this.#options = options;
    this.#router = new RequestRouter(components, { serverType: 'admin', debugging: true });
    this.#listener = new SocketListener(components);
  }

  /**
   * Serves until `signal` is aborted and all requests have ended.
   * @throws ServerError `ListenFailed` if another process serves the socket, or other users may open it
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { path, onListening = () => {} } = this.#options;
    await this.#listener.run(path, this.#router, onListening, signal);
  }
}
