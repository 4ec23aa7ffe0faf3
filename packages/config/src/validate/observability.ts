import { isIP } from 'node:net';
import { childPath } from '../path.ts';
import { type Rule, when } from './rule.ts';

/** The minor version before the version that this kubelet implements. */
const PREVIOUS_VERSION = '1.35';

const logging: Rule = ({ logging: { format, vmodule, options } }, { gates }) => {
  const alpha = gates.enabled('LoggingAlphaOptions');
  return [
    ...when(vmodule.length > 0 && format !== 'text', 'logging.vmodule', 'is only supported for the log format text'),
    ...vmodule.flatMap(({ filePattern, verbosity }, index) => {
      const path = childPath('logging.vmodule', index);
      return [
        ...when(filePattern === '', `${path}.filePattern`, 'must not be empty'),
        ...when(/[=,]/.test(filePattern), `${path}.filePattern`, 'must not contain an equal sign or a comma'),
        ...when(verbosity > 2_147_483_647, `${path}.verbosity`, 'must be 2147483647 or less'),
      ];
    }),
    ...(['text', 'json'] as const).flatMap((name) => [
      ...when(
        options[name].splitStream && !alpha,
        `logging.options.${name}.splitStream`,
        'requires the feature gate LoggingAlphaOptions',
      ),
      ...when(
        options[name].infoBufferSizeBytes !== 0 && !alpha,
        `logging.options.${name}.infoBufferSize`,
        'requires the feature gate LoggingAlphaOptions',
      ),
    ]),
  ];
};

const SCHEMES: readonly string[] = ['dns', 'unix', 'unix-abstract'];

/** Returns whether Go's `url.Parse` accepts the endpoint, after `dns://` is prepended to text without a scheme. */
function isEndpoint(endpoint: string): boolean {
  if (/\p{Cc}/u.test(endpoint)) return false;
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const [, scheme = '', authority = ''] = /^([^:]*):\/\/([^/?#]*)/.exec(url) ?? [];
  if (!SCHEMES.includes(scheme.toLowerCase())) return false;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const [, address, afterAddress] = /^\[([^\]%]*)(?:%25[^\]]*)?\](.*)$/.exec(host) ?? [];
  if (address === undefined ? /[\s[\]]/.test(host) : isIP(address) !== 6) return false;
  // The text after the last colon is the port, regardless of the text before it.
  const colon = host.lastIndexOf(':');
  const port = afterAddress ?? (colon < 0 ? '' : host.slice(colon));
  return /^(?::\d*)?$/.test(port);
}

const tracing: Rule = ({ tracing: settings }) => {
  const endpoint = settings?.endpoint;
  if (endpoint === undefined) return [];
  return when(
    !isEndpoint(endpoint),
    'tracing.endpoint',
    'must be host:port, or a URL with the scheme dns, unix or unix-abstract',
  );
};

const hiddenMetrics: Rule = ({ showHiddenMetricsForVersion: version }) =>
  when(
    version !== '' && version !== PREVIOUS_VERSION,
    'showHiddenMetricsForVersion',
    `must be omitted or ${PREVIOUS_VERSION}: only the previous minor version is allowed`,
  );

/** Rules for logs, traces and metrics. */
export const observabilityRules: readonly Rule[] = [logging, tracing, hiddenMetrics];
