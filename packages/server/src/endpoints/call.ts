import type { UserInfo } from '../access/user.ts';
import type { Answer, Exchange, UpgradeRequest } from '../http/exchange.ts';
import type { Reply } from '../http/reply.ts';
import type { RouteParams, SecuredEndpoint } from '../secured-routes.ts';

/** A request that was let in, at the endpoint that it is for. */
export interface Call extends Pick<Exchange, 'method' | 'headers' | 'remoteAddress' | 'signal' | 'body' | 'takeTime'> {
  readonly user: UserInfo;
  readonly params: RouteParams;
  readonly query: URLSearchParams;
}

/** A call by a connection that its client asks to upgrade. */
export interface UpgradeCall extends Call, Pick<UpgradeRequest, 'connection' | 'rest' | 'rawHeaders'> {}

/** Answers at an endpoint. An error that it throws, or an answer that cannot be sent, is logged and becomes a 500 without the error's text. */
export type Endpoint = (call: Call) => Answer | Promise<Answer>;

/** What takes upgraded connections at an endpoint: done when it is done with them, or it says what to answer instead. */
export type UpgradeEndpoint = (call: UpgradeCall) => Promise<Reply | undefined>;

/** What answers where, by the name of the endpoint, whose paths are a kubelet's: there are no others. At what is missing, nothing is there. */
export type Endpoints = Partial<Record<SecuredEndpoint, Endpoint>>;
export type UpgradeEndpoints = Partial<Record<SecuredEndpoint, UpgradeEndpoint>>;
