import type { UserInfo } from '../access/user.ts';
import type { Answer, Exchange, UpgradeRequest } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';
import type { RouteParams, SecuredEndpoint } from '../secured-routes.ts';

/** An authorized request with its path parameters. */
export interface Call extends Pick<Exchange, 'method' | 'headers' | 'remoteAddress' | 'signal' | 'body' | 'takeTime'> {
  readonly user: UserInfo;
  /** The decoded path, without the query. */
  readonly path: string;
  readonly params: RouteParams;
  readonly query: URLSearchParams;
}

/** An authorized request that asks for a connection upgrade. */
export interface UpgradeCall extends Call, Pick<UpgradeRequest, 'connection' | 'rest' | 'rawHeaders'> {}

/**
 * Handles a request. If the handler throws or returns an invalid answer, the error is logged and the client gets a 500
 * without the error's text.
 */
export type Endpoint = (call: Call) => Answer | Promise<Answer>;

/**
 * Handles a connection upgrade. Resolves with `undefined` when the upgraded connection has ended, or with the reply to
 * send instead of an upgrade.
 */
export type UpgradeEndpoint = (call: UpgradeCall) => Promise<Reply | undefined>;

/**
 * Handlers by endpoint name. The paths are those of a kubelet; other paths cannot be added. Requests for an endpoint
 * without a handler get 404.
 */
export type Endpoints = Partial<Record<SecuredEndpoint, Endpoint>>;
export type UpgradeEndpoints = Partial<Record<SecuredEndpoint, UpgradeEndpoint>>;
