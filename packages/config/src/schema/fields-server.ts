import { type Field, field, warn } from './field.ts';
import { BOOLEAN, DURATION, INT32, list, notEmpty, object, oneOf, port, portOrOff, STRING } from './types.ts';

const NO_CONTENTION = 'nothing here waits for a lock: there is no such profile';

/** The endpoints that the kubelet serves. */
export const serverFields: readonly Field[] = [
  field({
    name: 'healthzPort',
    type: INT32,
    default: 10248,
    flag: 'healthz-port',
    check: portOrOff,
    doc: 'The port of /healthz. 0: not served.',
  }),
  field({
    name: 'healthzBindAddress',
    type: STRING,
    default: '127.0.0.1',
    zeroIsUnset: true,
    flag: { name: 'healthz-bind-address', syntax: 'ip' },
    doc: 'The IP address of /healthz, or a host name that has one.',
  }),
  field({
    name: 'readOnlyPort',
    type: INT32,
    default: 0,
    flag: 'read-only-port',
    check: portOrOff,
    doc: 'The port of the server that asks nobody who they are and changes nothing. 0: not served, also where no --config is given (upstream then serves it on 10255).',
  }),
  field({
    name: 'enableServer',
    type: BOOLEAN,
    default: true,
    flag: 'enable-server',
    doc: 'Whether the secured server runs.',
  }),
  field({
    name: 'address',
    type: STRING,
    default: '0.0.0.0',
    zeroIsUnset: true,
    flag: { name: 'address', syntax: 'ip' },
    doc: 'The IP address of the secured server. The read-only one is on the loopback.',
  }),
  field({
    name: 'port',
    type: INT32,
    default: 10250,
    zeroIsUnset: true,
    flag: 'port',
    check: port,
    doc: 'The port of the secured server.',
  }),
  field({
    name: 'enableDebuggingHandlers',
    type: BOOLEAN,
    default: true,
    flag: 'enable-debugging-handlers',
    doc: 'Whether logs, exec, attach and port-forward are served.',
  }),
  field({
    name: 'enableContentionProfiling',
    type: BOOLEAN,
    default: false,
    flag: 'contention-profiling',
    support: warn(NO_CONTENTION),
    doc: 'Whether contention is profiled, where enableDebuggingHandlers is true.',
  }),
  field({
    name: 'enableProfilingHandler',
    type: BOOLEAN,
    default: true,
    doc: 'Whether /debug/pprof is served.',
  }),
  field({
    name: 'enableDebugFlagsHandler',
    type: BOOLEAN,
    default: true,
    doc: 'Whether /debug/flags/v is served.',
  }),
  field({
    name: 'enableSystemLogHandler',
    type: BOOLEAN,
    default: true,
    doc: "Whether the host's logs are served at /logs.",
  }),
  field({
    name: 'enableSystemLogQuery',
    type: BOOLEAN,
    default: false,
    doc: 'Whether /logs answers queries. Needs enableSystemLogHandler.',
  }),
];

/** TLS of the secured server, and the certificates of the kubelet. */
export const tlsFields: readonly Field[] = [
  field({
    name: 'tlsCertFile',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'tls-cert-file',
    doc: "The secured server's certificate and its chain, PEM. Empty: self-signed, in --cert-dir.",
  }),
  field({
    name: 'tlsPrivateKeyFile',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'tls-private-key-file',
    doc: 'The private key of tlsCertFile, PEM.',
  }),
  field({
    name: 'tlsCipherSuites',
    type: list(STRING),
    default: [],
    flag: 'tls-cipher-suites',
    doc: 'The cipher suites of TLS 1.2 that are offered, by their IANA names. Empty: the default ones.',
  }),
  field({
    name: 'tlsCurvePreferences',
    type: list(INT32),
    default: [],
    doc: 'The key exchanges that are offered, by their TLS numbers. Empty: the default ones.',
  }),
  field({
    name: 'tlsMinVersion',
    type: oneOf('TlsVersion', '', 'VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'),
    default: '',
    flag: 'tls-min-version',
    doc: 'The oldest TLS version that is offered. Empty: VersionTLS12.',
  }),
  field({
    name: 'rotateCertificates',
    type: BOOLEAN,
    default: false,
    flag: 'rotate-certificates',
    doc: 'Whether the client certificate is renewed through the API server.',
  }),
  field({
    name: 'serverTLSBootstrap',
    type: BOOLEAN,
    default: false,
    flag: 'rotate-server-certificates',
    doc: 'Whether the serving certificate comes from the API server. Needs the feature gate RotateKubeletServerCertificate.',
  }),
];

/** Who may use the secured server. */
export const authFields: readonly Field[] = [
  field({
    name: 'authentication',
    default: {},
    type: object('KubeletAuthentication', 'How requests to the secured server are told apart.', [
      field({
        name: 'x509',
        default: {},
        type: object('KubeletX509Authentication', 'Client certificates.', [
          field({
            name: 'clientCAFile',
            type: STRING,
            default: '',
            isPath: true,
            flag: 'client-ca-file',
            doc: 'The authorities whose client certificates are believed, PEM. Empty: none.',
          }),
        ]),
        doc: 'Client certificates.',
      }),
      field({
        name: 'webhook',
        default: {},
        type: object('KubeletWebhookAuthentication', 'Bearer tokens, reviewed by the API server.', [
          field({
            name: 'enabled',
            type: BOOLEAN,
            default: true,
            flag: 'authentication-token-webhook',
            doc: 'Whether bearer tokens are reviewed by the API server. Default false where no --config is given.',
          }),
          field({
            name: 'cacheTTL',
            property: 'cacheTtlMs',
            type: DURATION,
            default: '2m0s',
            zeroIsUnset: true,
            flag: 'authentication-token-webhook-cache-ttl',
            doc: 'How long a review is believed.',
          }),
        ]),
        doc: 'Bearer tokens, reviewed by the API server.',
      }),
      field({
        name: 'anonymous',
        default: {},
        type: object('KubeletAnonymousAuthentication', 'Requests that show nothing.', [
          field({
            name: 'enabled',
            type: BOOLEAN,
            default: false,
            flag: 'anonymous-auth',
            doc: 'Whether requests that show neither a certificate nor a token are let in, as system:anonymous. Default true where no --config is given.',
          }),
        ]),
        doc: 'Requests that show nothing.',
      }),
    ]),
    doc: 'How requests to the secured server are told apart.',
  }),
  field({
    name: 'authorization',
    default: {},
    type: object('KubeletAuthorization', 'What requests to the secured server may do.', [
      field({
        name: 'mode',
        type: oneOf('KubeletAuthorizationMode', 'AlwaysAllow', 'Webhook'),
        default: 'Webhook',
        zeroIsUnset: true,
        flag: 'authorization-mode',
        check: notEmpty,
        doc: 'AlwaysAllow, or Webhook: the API server decides. Default AlwaysAllow where no --config is given.',
      }),
      field({
        name: 'webhook',
        default: {},
        type: object('KubeletWebhookAuthorization', 'Decisions of the API server.', [
          field({
            name: 'cacheAuthorizedTTL',
            property: 'cacheAuthorizedTtlMs',
            type: DURATION,
            default: '5m0s',
            zeroIsUnset: true,
            flag: 'authorization-webhook-cache-authorized-ttl',
            doc: 'How long a yes is believed.',
          }),
          field({
            name: 'cacheUnauthorizedTTL',
            property: 'cacheUnauthorizedTtlMs',
            type: DURATION,
            default: '30s',
            zeroIsUnset: true,
            flag: 'authorization-webhook-cache-unauthorized-ttl',
            doc: 'How long a no is believed.',
          }),
        ]),
        doc: 'Decisions of the API server.',
      }),
    ]),
    doc: 'What requests to the secured server may do.',
  }),
];
