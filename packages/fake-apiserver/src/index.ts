export type { CertificateSigner } from './core/controllers.ts';
export type { JsonObject } from './core/json.ts';
export type { AccessAttributes, Authorizer } from './core/reviews.ts';
export {
  type AuditEntry,
  FakeApiServer,
  type FakeApiServerComponents,
  type FakeApiServerOptions,
} from './fake-api-server.ts';
export { FakeApiServerHttp, type FakeApiServerHttpOptions } from './fake-api-server-http.ts';
export { ConnectionFault } from './faults/connection-fault.ts';
export type { FaultRule, RequestAttributes, RequestFault, Verb, WatchFault } from './faults/fault.ts';
export type { FaultInjector, FaultSource, InjectedFault } from './faults/injector.ts';
export { type FaultRates, seededFaults } from './faults/seeded.ts';
export type { UserInfo } from './resources/definition.ts';
export type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
