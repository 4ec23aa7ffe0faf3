import { type Field, field, supported, warn } from './field.ts';
import {
  atLeast,
  BOOLEAN,
  DURATION,
  INT32,
  list,
  map,
  notEmpty,
  notNegative,
  object,
  oneOf,
  positiveDuration,
  STRING,
  UINT32,
} from './types.ts';

/** Fields of the node in its cluster: registration, status, events, and traffic to the API server. */
export const clusterFields: readonly Field[] = [
  field({
    name: 'registerWithTaints',
    default: [],
    flag: { name: 'register-with-taints', syntax: 'taints' },
    type: list(
      object('TaintConfiguration', 'A taint of the node.', [
        field({ name: 'key', type: STRING, default: '', doc: 'Key of the taint.' }),
        field({ name: 'value', type: STRING, default: '', doc: 'Value of the taint.' }),
        field({
          name: 'effect',
          type: oneOf('TaintEffect', '', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
          default: '',
          doc: 'Effect on pods that do not tolerate the taint.',
        }),
        field({
          name: 'timeAdded',
          type: STRING,
          optional: true,
          doc: 'Not allowed in a configuration.',
        }),
      ]),
    ),

    doc: 'Taints that the node gets at its registration.',
  }),
  field({
    name: 'providerID',
    type: STRING,
    default: '',
    flag: { name: 'provider-id', deprecated: false },

    doc: 'Identifier of the machine at its cloud provider.',
  }),
  field({
    name: 'nodeStatusUpdateFrequency',
    type: DURATION,
    default: '10s',
    zeroIsUnset: true,
    flag: 'node-status-update-frequency',
    check: positiveDuration,
    doc: 'Interval at which the node status is computed.',
  }),
  field({
    name: 'nodeStatusReportFrequency',
    type: DURATION,
    default: '5m0s',
    zeroIsUnset: true,

    doc: 'Interval at which an unchanged node status is sent. If a file sets nodeStatusUpdateFrequency and not this field, the default is nodeStatusUpdateFrequency.',
  }),
  field({
    name: 'nodeLeaseDurationSeconds',
    type: INT32,
    default: 40,
    zeroIsUnset: true,
    check: (value) => (typeof value === 'number' && value > 0 ? undefined : 'must be greater than 0'),

    doc: 'Duration of the node Lease, in seconds.',
  }),
  field({
    name: 'nodeStatusMaxImages',
    type: INT32,
    default: 50,
    flag: 'node-status-max-images',
    check: atLeast(-1),

    doc: 'Maximum number of images in the node status. -1: all.',
  }),
  field({
    name: 'eventRecordQPS',
    reload: 'live',
    type: INT32,
    default: 50,
    flag: 'event-qps',
    check: notNegative,

    doc: 'Events per second, on average. 0: no limit.',
  }),
  field({
    name: 'eventBurst',
    reload: 'live',
    type: INT32,
    default: 100,
    zeroIsUnset: true,
    flag: 'event-burst',
    check: notNegative,

    doc: 'Events that may exceed eventRecordQPS in a burst.',
  }),
  field({
    name: 'kubeAPIQPS',
    reload: 'live',
    type: INT32,
    default: 50,
    flag: 'kube-api-qps',
    check: notNegative,

    doc: 'Requests to the API server per second, on average, without events and heartbeats. 0: 5.',
  }),
  field({
    name: 'kubeAPIBurst',
    reload: 'live',
    type: INT32,
    default: 100,
    zeroIsUnset: true,
    flag: 'kube-api-burst',
    check: notNegative,

    doc: 'Requests that may exceed kubeAPIQPS in a burst.',
  }),
  field({
    name: 'contentType',
    type: STRING,
    default: 'application/vnd.kubernetes.protobuf',
    zeroIsUnset: true,
    flag: 'kube-api-content-type',
    support: warn('requests are JSON', { accepted: ['application/json'] }),
    doc: 'Media type of requests to the API server.',
  }),
  field({
    name: 'configMapAndSecretChangeDetectionStrategy',
    type: oneOf('ChangeDetectionStrategy', 'Get', 'Cache', 'Watch'),
    default: 'Watch',
    zeroIsUnset: true,

    doc: 'How changes of ConfigMaps and Secrets are detected.',
  }),
];

const outputOptions = (): readonly Field[] => [
  field({
    name: 'splitStream',
    type: BOOLEAN,
    default: false,
    doc: 'Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions.',
  }),
  field({
    name: 'infoBufferSize',
    type: { kind: 'bytes', acceptsNumber: true },
    default: '0',
    doc: 'Buffer size of the info stream, if splitStream is set. 0: not buffered. Needs the feature gate LoggingAlphaOptions.',
  }),
];

const textOptions = withFlags(outputOptions(), 'text');
const jsonOptions = withFlags(outputOptions(), 'json');

function withFlags(fields: readonly Field[], format: string): readonly Field[] {
  const names: Record<string, string> = { splitStream: 'split-stream', infoBufferSize: 'info-buffer-size' };
  return fields.map((line) => ({ ...line, flag: { name: `log-${format}-${names[line.name]}` } }));
}

/** Fields of the kubelet's logs, traces, metrics and feature gates. */
export const observabilityFields: readonly Field[] = [
  field({
    name: 'logging',
    default: {},
    type: object('LoggingConfiguration', 'Log of the kubelet.', [
      field({
        name: 'format',
        type: oneOf('LogFormat', 'text', 'json'),
        default: 'text',
        zeroIsUnset: true,
        flag: 'logging-format',
        check: notEmpty,
        doc: 'Format of log lines.',
      }),
      field({
        name: 'flushFrequency',
        type: { kind: 'duration', integerNanoseconds: true },
        default: '5s',
        zeroIsUnset: true,
        flag: { name: 'log-flush-frequency', deprecated: false },
        check: (value) => (typeof value === 'number' && value > 0 ? undefined : 'must be greater than zero'),
        doc: 'Longest time that a log line is buffered. Lines are buffered only if splitStream and infoBufferSize are set. A whole number is nanoseconds.',
      }),
      field({
        name: 'verbosity',
        reload: 'live',
        type: UINT32,
        default: 0,
        flag: { name: 'v', shorthand: 'v', deprecated: false, syntax: 'decimal' },
        check: (value) =>
          typeof value === 'number' && value <= 2_147_483_647 ? undefined : 'must be 2147483647 or less',
        doc: 'Verbosity of the log: 0 is the least, 4 is for debugging, 10 is everything.',
      }),
      field({
        name: 'vmodule',
        default: [],
        flag: { name: 'vmodule', deprecated: false, syntax: 'vmodule' },
        type: list(
          object('VModuleItem', 'Verbosity of some source files.', [
            field({
              name: 'filePattern',
              type: STRING,
              default: '',
              doc: 'File name without its suffix, or a glob pattern.',
            }),
            field({ name: 'verbosity', type: UINT32, default: 0, doc: 'Verbosity of the files.' }),
          ]),
        ),
        doc: 'Verbosity by source file. Only with format text.',
      }),
      field({
        name: 'options',
        default: {},
        type: object('LogFormatOptions', 'Options of each log format.', [
          field({
            name: 'text',
            default: {},
            type: object('TextLogOptions', 'Options of the format text.', textOptions),
            doc: 'Options of the format text.',
          }),
          field({
            name: 'json',
            default: {},
            type: object('JsonLogOptions', 'Options of the format json.', jsonOptions),
            doc: 'Options of the format json.',
          }),
        ]),
        doc: 'Options of each log format.',
      }),
    ]),
    doc: 'Log of the kubelet.',
  }),
  field({
    name: 'tracing',
    optional: true,
    type: object('TracingConfiguration', 'Traces, sent by OTLP over gRPC.', [
      field({
        name: 'endpoint',
        type: STRING,
        optional: true,
        doc: 'Collector of traces, as a gRPC name. Unset: localhost:4317.',
      }),
      field({
        name: 'samplingRatePerMillion',
        type: INT32,
        optional: true,
        check: (value) =>
          typeof value === 'number' && value >= 0 && value <= 1_000_000
            ? undefined
            : 'must be between 0 and 1000000, inclusive',
        doc: 'Number of spans without a parent that are sampled, per million. Unset: none.',
      }),
    ]),
    doc: 'Traces, sent by OTLP over gRPC.',
  }),
  field({
    name: 'showHiddenMetricsForVersion',
    type: STRING,
    default: '',
    support: warn('no metric is hidden'),
    doc: 'Previous minor version, to export metrics that this version hides. No other value is allowed.',
  }),
  field({
    name: 'featureGates',
    type: map(BOOLEAN),
    default: {},
    flag: 'feature-gates',
    support: supported,
    doc: 'Feature gates by name. Gates of drop-in files and flags are added to those of the file.',
  }),
];
