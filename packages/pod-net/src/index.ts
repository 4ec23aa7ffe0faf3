export { PodNetError, type PodNetErrorCode } from './errors.ts';
export type { ExchangeOptions } from './exchange.ts';
export { goQuoteAll } from './go-quote.ts';
export { type ErrorContext, goWords } from './go-words.ts';
export { type HttpGetOptions, type HttpGetResult, HttpGetUnderWay, httpGet } from './http-get.ts';
export {
  type HttpGetAction,
  type HttpGetRequest,
  type HttpGetRequestOptions,
  hostAndPort,
  httpGetRequest,
  urlOf,
  withScheme,
} from './http-request.ts';
export { resolvePort } from './resolve-port.ts';
export { type OpenSocket, openSocket } from './socket.ts';
export { type TcpTarget, tcpConnect } from './tcp-connect.ts';
