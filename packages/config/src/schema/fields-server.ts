import { type Field, field, warn } from './field.ts';
import { BOOLEAN, DURATION, INT32, list, notEmpty, object, oneOf, port, portOrOff, STRING } from './types.ts';

const NO_CONTENTION = 'Node.js has no such profile';

/** Fields of the kubelet's servers. */
export const serverFields: readonly Field[] = [
  field({
    name: 'healthzPort',
    type: INT32,
    default: 10248,
    flag: 'healthz-port',
    check: portOrOff,
    doc: 'Port of /healthz. 0: not served.',
  }),
  field({
    name: 'healthzBindAddress',
    type: STRING,
    default: '127.0.0.1',
    zeroIsUnset: true,
    flag: { name: 'healthz-bind-address', syntax: 'ip' },
    doc: 'IP address of /healthz, or a host name that resolves to one.',
  }),
  field({
    name: 'readOnlyPort',
    type: INT32,
    default: 0,
    flag: 'read-only-port',
    check: portOrOff,
    doc: 'Port of the read-only server, which needs no authentication. 0: not served. Without --config, the default is 0 (upstream: 10255).',
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
    doc: 'IP address of the secured server. The read-only server listens on the loopback address.',
  }),
  field({
    name: 'port',
    type: INT32,
    default: 10250,
    zeroIsUnset: true,
    flag: 'port',
    check: port,
    doc: 'Port of the secured server.',
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
    doc: 'Whether lock contention is profiled if enableDebuggingHandlers is true.',
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

/** Fields of TLS and the kubelet's certificates. */
export const tlsFields: readonly Field[] = [
  field({
    name: 'tlsCertFile',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'tls-cert-file',
    doc: 'Certificate of the secured server with its chain, PEM. Empty: a self-signed certificate in --cert-dir.',
  }),
  field({
    name: 'tlsPrivateKeyFile',
    type: STRING,
    default: '',
    isPath: true,
    flag: 'tls-private-key-file',
    doc: 'Private key of tlsCertFile, PEM.',
  }),
  field({
    name: 'tlsCipherSuites',
    type: list(STRING),
    default: [],
    flag: 'tls-cipher-suites',
    doc: 'Cipher suites of TLS 1.2 to offer, by their IANA names. Empty: the defaults.',
  }),
  field({
    name: 'tlsCurvePreferences',
    type: list(INT32),
    default: [],
    doc: 'Key exchanges to offer, by their TLS numbers. Empty: the defaults.',
  }),
  field({
    name: 'tlsMinVersion',
    type: oneOf('TlsVersion', '', 'VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'),
    default: '',
    flag: 'tls-min-version',
    doc: 'Minimum TLS version. Empty: VersionTLS12.',
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

/** Fields of authentication and authorization on the secured server. */
export const authFields: readonly Field[] = [
  field({
    name: 'authentication',
    default: {},
    type: object('KubeletAuthentication', 'Authentication of requests to the secured server.', [
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
            doc: 'Certificate authorities of client certificates, PEM. Empty: no client certificate is accepted.',
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
            doc: 'Whether the API server reviews bearer tokens. Without --config, the default is false.',
          }),
          field({
            name: 'cacheTTL',
            property: 'cacheTtlMs',
            type: DURATION,
            default: '2m0s',
            zeroIsUnset: true,
            flag: 'authentication-token-webhook-cache-ttl',
            doc: 'How long the result of a token review is cached.',
          }),
        ]),
        doc: 'Bearer tokens, reviewed by the API server.',
      }),
      field({
        name: 'anonymous',
        default: {},
        type: object('KubeletAnonymousAuthentication', 'Requests without credentials.', [
          field({
            name: 'enabled',
            type: BOOLEAN,
            default: false,
            flag: 'anonymous-auth',
            doc: 'Whether requests without a certificate or token are accepted as system:anonymous. Without --config, the default is true.',
          }),
        ]),
        doc: 'Requests without credentials.',
      }),
    ]),
    doc: 'Authentication of requests to the secured server.',
  }),
  field({
    name: 'authorization',
    default: {},
    type: object('KubeletAuthorization', 'Authorization of requests to the secured server.', [
      field({
        name: 'mode',
        type: oneOf('KubeletAuthorizationMode', 'AlwaysAllow', 'Webhook'),
        default: 'Webhook',
        zeroIsUnset: true,
        flag: 'authorization-mode',
        check: notEmpty,
        doc: 'AlwaysAllow, or Webhook: the API server decides. Without --config, the default is AlwaysAllow.',
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
            doc: 'How long an allowed request is cached.',
          }),
          field({
            name: 'cacheUnauthorizedTTL',
            property: 'cacheUnauthorizedTtlMs',
            type: DURATION,
            default: '30s',
            zeroIsUnset: true,
            flag: 'authorization-webhook-cache-unauthorized-ttl',
            doc: 'How long a denied request is cached.',
          }),
        ]),
        doc: 'Decisions of the API server.',
      }),
    ]),
    doc: 'Authorization of requests to the secured server.',
  }),
];
