import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './errors.ts';
import { parseDurationMs } from './units.ts';

/** Format of the output. */
type OutputFormat = 'table' | 'wide' | 'json' | 'yaml';

/** Address of the kubelet: its admin socket, or a server with certificates. */
export type Target =
  | { readonly socket: string }
  | {
      readonly server: URL;
      readonly certificateFile: string | undefined;
      readonly keyFile: string | undefined;
      readonly authorityFile: string | undefined;
      readonly serverName: string | undefined;
      readonly skipVerify: boolean;
    };

/** A port to forward; local 0 means any free port. */
export interface PortPair {
  readonly local: number;
  readonly remote: number;
}

/** The command and its arguments. */
export type Command =
  | { readonly name: 'pods'; readonly pods: readonly string[]; readonly watch: boolean; readonly check: boolean }
  | {
      readonly name: 'logs';
      readonly pod: string;
      readonly container: string | undefined;
      /** The query of `/containerLogs`. */
      readonly query: Readonly<Record<string, string>>;
      readonly raw: boolean;
    }
  | {
      readonly name: 'exec';
      readonly pod: string;
      readonly container: string | undefined;
      readonly stdin: boolean;
      readonly tty: boolean;
      readonly argv: readonly string[];
    }
  | {
      readonly name: 'port-forward';
      readonly pod: string;
      readonly ports: readonly PortPair[];
      readonly address: string;
    }
  | { readonly name: 'apply'; readonly file: string; readonly dryRun: boolean }
  | {
      readonly name: 'delete';
      readonly pod: string | undefined;
      readonly file: string | undefined;
      readonly dryRun: boolean;
    }
  | { readonly name: 'explain' | 'events'; readonly pod: string | undefined }
  | { readonly name: 'top' | 'images' }
  | { readonly name: 'node'; readonly check: boolean };

/** The parsed command line: the command, the address of the kubelet, and options that several commands have. */
export interface Options {
  readonly command: Command;
  readonly target: Target;
  /** Restricts the command to pods of this namespace. */
  readonly namespace: string | undefined;
  readonly output: OutputFormat;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export type Asked = { readonly show: 'help' | 'version' } | Options;

const DEFAULT_SOCKET = '/run/node-agent/admin.sock';
const OUTPUTS: readonly string[] = ['table', 'wide', 'json', 'yaml'];

const FLAGS = {
  namespace: { type: 'string', short: 'n' },
  container: { type: 'string', short: 'c' },
  output: { type: 'string', short: 'o' },
  watch: { type: 'boolean', short: 'w' },
  interval: { type: 'string' },
  check: { type: 'boolean' },
  previous: { type: 'boolean', short: 'p' },
  since: { type: 'string' },
  tail: { type: 'string' },
  timestamps: { type: 'boolean' },
  raw: { type: 'boolean' },
  stdin: { type: 'boolean', short: 'i' },
  tty: { type: 'boolean', short: 't' },
  address: { type: 'string' },
  'dry-run': { type: 'boolean' },
  socket: { type: 'string' },
  server: { type: 'string' },
  'client-certificate': { type: 'string' },
  'client-key': { type: 'string' },
  'certificate-authority': { type: 'string' },
  'tls-server-name': { type: 'string' },
  'insecure-skip-tls-verify': { type: 'boolean' },
  'request-timeout': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/** `-f` is --follow for logs and --filename for other commands, as in kubectl. */
const FOLLOW = { follow: { type: 'boolean', short: 'f' } } as const;
const FILENAME = { filename: { type: 'string', short: 'f' } } as const;

/** Flags that only some commands have, with the names of these commands. */
const ONLY_FOR: Readonly<Partial<Record<string, readonly string[]>>> = {
  container: ['logs', 'exec'],
  watch: ['pods'],
  interval: ['pods'],
  check: ['pods', 'node'],
  previous: ['logs'],
  since: ['logs'],
  tail: ['logs'],
  timestamps: ['logs'],
  raw: ['logs'],
  stdin: ['exec'],
  tty: ['exec'],
  address: ['port-forward'],
  'dry-run': ['apply', 'delete'],
  filename: ['apply', 'delete'],
  output: ['pods', 'explain', 'top', 'events', 'images', 'node'],
};

interface Values {
  readonly [flag: string]: string | boolean | undefined;
}

/** Parses a command line. @throws UsageError naming what is wrong */
export function parseOptions(argv: readonly string[]): Asked {
  const split = argv.indexOf('--');
  const own = split < 0 ? argv : argv.slice(0, split);
  const { values, positionals } = parse(own, commandName(own) === 'logs');
  if (values.help === true) return { show: 'help' };
  if (values.version === true) return { show: 'version' };
  const [name, ...args] = positionals;
  if (name === undefined) throw new UsageError('name a command, such as pods or node');
  const command = commandOf(name, args, values, split < 0 ? undefined : argv.slice(split + 1));
  for (const flag of Object.keys(values)) {
    const commands = ONLY_FOR[flag];
    if (commands !== undefined && !commands.includes(name)) {
      throw new UsageError(`--${flag}: only for ${commands.join(' and ')}`);
    }
  }
  const output = text(values, 'output') ?? 'table';
  if (!OUTPUTS.includes(output))
    throw new UsageError(`--output: must be one of ${OUTPUTS.join(', ')}, not "${output}"`);
  if (output === 'wide' && name !== 'pods') throw new UsageError('--output=wide: only for pods');
  if (command.name === 'pods' && command.watch && ['json', 'yaml'].includes(output)) {
    throw new UsageError('--watch: cannot be combined with --output=json or yaml');
  }
  return {
    command,
    target: targetOf(values),
    namespace: text(values, 'namespace'),
    output: output as OutputFormat,
    intervalMs: seconds(values, 'interval', 2),
    timeoutMs: seconds(values, 'request-timeout', 30),
  };
}

/** Returns the first argument that is neither a flag nor the value of one. */
function commandName(argv: readonly string[]): string | undefined {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true, strict: false, options: FLAGS });
  return positionals[0];
}

function parse(argv: readonly string[], isLogs: boolean): { values: Values; positionals: readonly string[] } {
  try {
    const options: NonNullable<ParseArgsConfig['options']> = { ...FLAGS, ...(isLogs ? FOLLOW : FILENAME) };
    const { values, positionals } = parseArgs({ args: [...argv], allowPositionals: true, options });
    // No flag is declared to be repeatable, so no value is a list.
    return { values: values as Values, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function commandOf(
  name: string,
  args: readonly string[],
  values: Values,
  argv: readonly string[] | undefined,
): Command {
  if (argv !== undefined && name !== 'exec') throw new UsageError(`${name}: does not take arguments behind --`);
  switch (name) {
    case 'pods':
      return { name, pods: args, watch: values.watch === true, check: values.check === true };
    case 'logs':
      return {
        ...{ name, pod: only(name, args, 'a pod'), container: text(values, 'container'), raw: values.raw === true },
        query: logQuery(values),
      };
    case 'exec':
      if (argv === undefined || argv.length === 0) throw new UsageError('exec: put the command behind --');
      return {
        ...{ name, pod: only(name, args, 'a pod'), container: text(values, 'container'), argv },
        ...{ stdin: values.stdin === true, tty: values.tty === true },
      };
    case 'port-forward': {
      const [pod, ...ports] = args;
      if (pod === undefined || ports.length === 0) throw new UsageError('port-forward: name a pod and a port');
      return { name, pod, ports: ports.map(portPair), address: text(values, 'address') ?? '127.0.0.1' };
    }
    case 'apply': {
      const file = text(values, 'filename');
      none(name, args);
      if (file === undefined) throw new UsageError('apply: name the manifest with -f FILE');
      return { name, file, dryRun: values['dry-run'] === true };
    }
    case 'delete': {
      const file = text(values, 'filename');
      const pod = file === undefined ? only(name, args, 'a pod, or a manifest with -f FILE') : undefined;
      if (file !== undefined) none(name, args);
      return { name, pod, file, dryRun: values['dry-run'] === true };
    }
    case 'explain':
    case 'events':
      if (args.length > 1) throw new UsageError(`${name}: only one pod is allowed`);
      return { name, pod: args[0] };
    case 'top':
    case 'images':
      none(name, args);
      return { name };
    case 'node':
      none(name, args);
      return { name, check: values.check === true };
    default:
      throw new UsageError(`there is no command ${JSON.stringify(name)}`);
  }
}

/** Returns the query of `/containerLogs` for the flags of `logs`. */
function logQuery(values: Values): Readonly<Record<string, string>> {
  const since = text(values, 'since');
  const sinceMs = since === undefined ? undefined : parseDurationMs(since);
  if (since !== undefined && (sinceMs === undefined || sinceMs <= 0)) {
    throw new UsageError(`--since: must be a duration such as 90s or 1h30m, not ${JSON.stringify(since)}`);
  }
  const tail = text(values, 'tail');
  if (tail !== undefined && !/^\d{1,15}$/.test(tail)) {
    throw new UsageError(`--tail: must be a number of lines, not ${JSON.stringify(tail)}`);
  }
  return {
    ...(values.follow === true && { follow: 'true' }),
    ...(values.previous === true && { previous: 'true' }),
    ...(values.timestamps === true && { timestamps: 'true' }),
    ...(sinceMs !== undefined && { sinceSeconds: String(Math.ceil(sinceMs / 1000)) }),
    ...(tail !== undefined && { tailLines: tail }),
  };
}

/** Parses `REMOTE`, `LOCAL:REMOTE` or `:REMOTE`. */
export function portPair(given: string): PortPair {
  const match = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(given);
  const remote = Number(match?.[2]);
  const local = match?.[1] === undefined ? remote : Number(match[1]);
  if (match === null || remote < 1 || remote > 65_535 || local > 65_535) {
    throw new UsageError(`port ${JSON.stringify(given)}: must be PORT or LOCAL:REMOTE, each from 1 to 65535`);
  }
  return { local, remote };
}

function targetOf(values: Values): Target {
  const given = text(values, 'server');
  const tls = [
    'client-certificate',
    'client-key',
    'certificate-authority',
    'tls-server-name',
    'insecure-skip-tls-verify',
  ];
  if (given === undefined) {
    const flag = tls.find((name) => values[name] !== undefined);
    if (flag !== undefined) throw new UsageError(`--${flag}: needs --server`);
    return { socket: text(values, 'socket') ?? DEFAULT_SOCKET };
  }
  if (values.socket !== undefined) throw new UsageError('--server and --socket exclude each other');
  const server = URL.canParse(given) ? new URL(given) : undefined;
  if (server?.protocol !== 'https:') {
    throw new UsageError(`--server: must be https://HOST:PORT, not ${JSON.stringify(given)}`);
  }
  const [certificateFile, keyFile] = [text(values, 'client-certificate'), text(values, 'client-key')];
  if ((certificateFile === undefined) !== (keyFile === undefined)) {
    throw new UsageError('--client-certificate and --client-key belong together');
  }
  return {
    ...{ server, certificateFile, keyFile },
    authorityFile: text(values, 'certificate-authority'),
    serverName: text(values, 'tls-server-name'),
    skipVerify: values['insecure-skip-tls-verify'] === true,
  };
}

function text(values: Values, flag: string): string | undefined {
  const value = values[flag];
  return typeof value === 'string' ? value : undefined;
}

function only(name: string, [first, second]: readonly string[], what: string): string {
  if (first === undefined) throw new UsageError(`${name}: name ${what}`);
  if (second !== undefined) throw new UsageError(`${name}: only one name is allowed: ${first}, or ${second}`);
  return first;
}

function none(name: string, [first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`${name}: leave out ${JSON.stringify(first)}`);
}

function seconds(values: Values, flag: string, otherwise: number): number {
  const given = text(values, flag) ?? String(otherwise);
  const value = Number(/^(\d+(?:\.\d+)?)s?$/.exec(given)?.[1] ?? Number.NaN);
  if (!(value >= 0.1 && value <= 86_400)) {
    throw new UsageError(`--${flag}: must be seconds from 0.1 to 86400, not ${JSON.stringify(given)}`);
  }
  return value * 1000;
}
