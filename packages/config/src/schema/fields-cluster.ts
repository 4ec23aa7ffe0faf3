import { type Field, field, inert, supported, warn } from './field.ts';
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

/** The node in its cluster: registration, status, events, and the traffic to the API server. */
export const clusterFields: readonly Field[] = [
  field({
    name: 'registerWithTaints',
    default: [],
    flag: { name: 'register-with-taints', syntax: 'taints' },
    type: list(
      object('TaintConfiguration', 'A taint of the node.', [
        field({ name: 'key', type: STRING, default: '', doc: 'The key.' }),
        field({ name: 'value', type: STRING, default: '', doc: 'The value.' }),
        field({
          name: 'effect',
          type: oneOf('TaintEffect', '', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
          default: '',
          doc: 'What happens to pods that do not tolerate it.',
        }),
        field({
          name: 'timeAdded',
          type: STRING,
          optional: true,
          doc: 'Not allowed in a configuration.',
        }),
      ]),
    ),

    doc: 'Taints that the node gets when it is registered.',
  }),
  field({
    name: 'providerID',
    type: STRING,
    default: '',
    flag: { name: 'provider-id', deprecated: false },

    doc: "The machine's name in its provider's inventory.",
  }),
  field({
    name: 'nodeStatusUpdateFrequency',
    type: DURATION,
    default: '10s',
    zeroIsUnset: true,
    flag: 'node-status-update-frequency',
    check: positiveDuration,
    doc: 'How often the status of the node is looked at.',
  }),
  field({
    name: 'nodeStatusReportFrequency',
    type: DURATION,
    default: '5m0s',
    zeroIsUnset: true,

    doc: 'How often a status that did not change is sent. Default 5m, or nodeStatusUpdateFrequency where a file sets that.',
  }),
  field({
    name: 'nodeLeaseDurationSeconds',
    type: INT32,
    default: 40,
    zeroIsUnset: true,
    check: (value) => (typeof value === 'number' && value > 0 ? undefined : 'must be greater than 0'),

    doc: 'How long the lease of the node holds, in seconds.',
  }),
  field({
    name: 'nodeStatusMaxImages',
    type: INT32,
    default: 50,
    flag: 'node-status-max-images',
    check: atLeast(-1),

    doc: 'How many images the status of the node lists. -1: all.',
  }),
  field({
    name: 'eventRecordQPS',
    type: INT32,
    default: 50,
    flag: 'event-qps',
    check: notNegative,

    doc: 'How many events are sent per second in the long run. 0: no limit.',
  }),
  field({
    name: 'eventBurst',
    type: INT32,
    default: 100,
    zeroIsUnset: true,
    flag: 'event-burst',
    check: notNegative,

    doc: 'How many events may be sent at once above eventRecordQPS.',
  }),
  field({
    name: 'kubeAPIQPS',
    type: INT32,
    default: 50,
    flag: 'kube-api-qps',
    check: notNegative,

    doc: 'How many requests go to the API server per second in the long run; events and heartbeats apart. 0: 5.',
  }),
  field({
    name: 'kubeAPIBurst',
    type: INT32,
    default: 100,
    zeroIsUnset: true,
    flag: 'kube-api-burst',
    check: notNegative,

    doc: 'How many requests may go to the API server at once above kubeAPIQPS.',
  }),
  field({
    name: 'contentType',
    type: STRING,
    default: 'application/vnd.kubernetes.protobuf',
    zeroIsUnset: true,
    flag: 'kube-api-content-type',
    support: warn('requests are JSON', { accepted: ['application/json'] }),
    doc: 'The media type of requests to the API server.',
  }),
  field({
    name: 'configMapAndSecretChangeDetectionStrategy',
    type: oneOf('ChangeDetectionStrategy', 'Get', 'Cache', 'Watch'),
    default: 'Watch',
    zeroIsUnset: true,

    doc: 'How changes of config maps and secrets are noticed.',
  }),
];

const outputOptions = (): readonly Field[] => [
  field({
    name: 'splitStream',
    type: BOOLEAN,
    default: false,
    support: warn('all lines go to one stream'),
    doc: 'Whether errors go to stderr and the rest to stdout. Needs the feature gate LoggingAlphaOptions.',
  }),
  field({
    name: 'infoBufferSize',
    type: { kind: 'bytes', acceptsNumber: true },
    default: '0',
    support: warn('lines are not buffered'),
    doc: 'The buffer of the info stream. Needs the feature gate LoggingAlphaOptions.',
  }),
];

const textOptions = withFlags(outputOptions(), 'text');
const jsonOptions = withFlags(outputOptions(), 'json');

function withFlags(fields: readonly Field[], format: string): readonly Field[] {
  const names: Record<string, string> = { splitStream: 'split-stream', infoBufferSize: 'info-buffer-size' };
  return fields.map((line) => ({ ...line, flag: { name: `log-${format}-${names[line.name]}` } }));
}

/** What the kubelet tells of itself: logs, traces, metrics; and its feature gates. */
export const observabilityFields: readonly Field[] = [
  field({
    name: 'logging',
    default: {},
    type: object('LoggingConfiguration', "The kubelet's own log.", [
      field({
        name: 'format',
        type: oneOf('LogFormat', 'text', 'json'),
        default: 'text',
        zeroIsUnset: true,
        flag: 'logging-format',
        check: notEmpty,
        doc: 'The form of log lines.',
      }),
      field({
        name: 'flushFrequency',
        type: { kind: 'duration', integerNanoseconds: true },
        default: '5s',
        zeroIsUnset: true,
        flag: { name: 'log-flush-frequency', deprecated: false },
        support: inert('lines are written as they come'),
        check: (value) => (typeof value === 'number' && value > 0 ? undefined : 'must be greater than zero'),
        doc: 'How long a log line may wait in a buffer. A whole number is nanoseconds.',
      }),
      field({
        name: 'verbosity',
        type: UINT32,
        default: 0,
        flag: { name: 'v', shorthand: 'v', deprecated: false, syntax: 'decimal' },
        check: (value) =>
          typeof value === 'number' && value <= 2_147_483_647 ? undefined : 'must be 2147483647 or less',
        doc: 'How much is logged; 0 is least, 4 is for debugging, 10 is everything.',
      }),
      field({
        name: 'vmodule',
        default: [],
        flag: { name: 'vmodule', deprecated: false, syntax: 'vmodule' },
        type: list(
          object('VModuleItem', 'The verbosity of some source files.', [
            field({
              name: 'filePattern',
              type: STRING,
              default: '',
              doc: 'A file name without suffix, or a glob of such.',
            }),
            field({ name: 'verbosity', type: UINT32, default: 0, doc: 'Its verbosity.' }),
          ]),
        ),
        support: warn('verbosity is the same for all files'),
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
    doc: "The kubelet's own log.",
  }),
  field({
    name: 'tracing',
    optional: true,
    type: object('TracingConfiguration', 'Traces, sent by OTLP over gRPC.', [
      field({
        name: 'endpoint',
        type: STRING,
        optional: true,
        support: warn('traces are not sent yet'),
        doc: 'The collector, as a gRPC name. Upstream uses localhost:4317 where unset.',
      }),
      field({
        name: 'samplingRatePerMillion',
        type: INT32,
        optional: true,
        support: warn('traces are not sent yet'),
        check: (value) =>
          typeof value === 'number' && value >= 0 && value <= 1_000_000
            ? undefined
            : 'must be between 0 and 1000000, inclusive',
        doc: 'How many of a million spans without a parent are sampled. Unset: none.',
      }),
    ]),
    doc: 'Traces, sent by OTLP over gRPC.',
  }),
  field({
    name: 'showHiddenMetricsForVersion',
    type: STRING,
    default: '',
    support: warn('no metric is hidden'),
    doc: 'The previous minor version, to see metrics that this version hides; no other value is allowed.',
  }),
  field({
    name: 'featureGates',
    type: map(BOOLEAN),
    default: {},
    flag: 'feature-gates',
    support: supported,
    doc: 'Feature gates by name. What drop-ins and flags set is added to what the file sets.',
  }),
];
