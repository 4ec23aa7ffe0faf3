import { aggregateText } from '@node-agent/telemetry';
import { patternProblem } from './pattern-problem.ts';

/** A validated query of the node's logs. */
export interface NodeLogQuery {
  /** Names of systemd services, or of log files. */
  readonly services: readonly string[];
  /** A single requested file, relative to the log directory. If set, no services are requested. */
  readonly file?: string;
  readonly options: NodeLogQueryOptions;
}

export interface NodeLogQueryOptions {
  /** Time of the oldest requested entry, in RFC 3339. */
  readonly sinceTime?: string;
  readonly untilTime?: string;
  readonly tailLines?: number;
  /** The boot whose entries are requested: 0 is the current boot, -1 the previous one. */
  readonly boot?: number;
  /** A regular expression. Only lines that match are returned. */
  readonly pattern?: string;
}

/**
 * The parsed query, or the status and message of the rejection. `undefined` if the request has no query, so that its
 * path names a file.
 */
export type ParsedNodeLogQuery =
  | { readonly query: NodeLogQuery }
  | { readonly query?: undefined; readonly status: 400 | 406; readonly message: string }
  | undefined;

const MAX_SERVICES = 4;
const MAX_SERVICE_BYTES = 256;
const MAX_TAIL_LINES = 100_000;
/** Characters that a service name must not contain, because `journalctl` or the file system could misinterpret them. */
const UNSAFE = /[^a-zA-Z\-_.:0-9@]/;
const RFC3339 = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.,]\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Parses the query of `/logs/` as `newNodeLogQuery` and `validate` in `pkg/kubelet/kubelet_server_journal.go` do, with
 * their messages. The caller checks whether a file exists.
 * @param hasPath whether the request's path names a file
 */
export function parseNodeLogQuery(query: URLSearchParams, hasPath: boolean): ParsedNodeLogQuery {
  const problems: string[] = [];
  const asked = query.getAll('query');
  const files = asked.filter((one) => /[/\\]/.test(one));
  const services = asked.filter((one) => !/[/\\]/.test(one) && one.trim() !== '');
  if (asked.length > 0 && files.length + services.length === 0) {
    problems.push(invalid('query', asked, 'may not be empty'));
  }
  const options = {
    ...time(query, 'sinceTime', problems),
    ...time(query, 'untilTime', problems),
    ...number(query, 'boot', problems),
    ...number(query, 'tailLines', problems),
    ...(query.get('pattern') && { pattern: query.get('pattern') ?? '' }),
  };
  if (problems.length > 0) return { status: 400, message: aggregateText(problems) };
  const hasOptions = Object.keys(options).length > 0;
  if (asked.length === 0 && !hasOptions) return undefined;
  if (hasPath) return { status: 406, message: 'path not allowed in query mode' };
  problems.push(...serviceProblems(services));
  problems.push(...shapeProblems(services, files, hasOptions));
  problems.push(...optionProblems(options));
  if (problems.length > 0) return { status: 406, message: aggregateText(problems) };
  const [file] = files;
  return { query: { services, options, ...(file !== undefined && { file }) } };
}

function serviceProblems(services: readonly string[]): readonly string[] {
  const problems = services.flatMap((service) => {
    if (Buffer.byteLength(service) > MAX_SERVICE_BYTES) {
      return [invalid('query', service, `length must be less than ${MAX_SERVICE_BYTES}`)];
    }
    return UNSAFE.test(service) ? [invalid('query', service, 'input contains unsupported characters')] : [];
  });
  if (services.length <= MAX_SERVICES) return problems;
  return [...problems, `query: Too many: ${services.length}: must have at most ${MAX_SERVICES} items`];
}

function shapeProblems(services: readonly string[], files: readonly string[], hasOptions: boolean): readonly string[] {
  if (files.length === 0 && services.length === 0) return ['query: Required value: cannot be empty with options'];
  if (files.length > 0 && services.length > 0) {
    const both = `[${files.join(' ')}], [${services.join(' ')}]`;
    return [invalid('query', both, 'cannot specify a file and service')];
  }
  if (files.length > 1) return [invalid('query', files, 'cannot specify more than one file')];
  return files.length === 1 && hasOptions ? [invalid('query', files, 'cannot specify file with options')] : [];
}

function optionProblems({ sinceTime, untilTime, boot, tailLines, pattern }: NodeLogQueryOptions): readonly string[] {
  const problems: string[] = [];
  if (sinceTime !== undefined && untilTime !== undefined && timeMs(sinceTime) > timeMs(untilTime)) {
    problems.push(invalid('untilTime', untilTime, 'must be after `sinceTime`'));
  }
  if (boot !== undefined && boot > 0) problems.push(invalid('boot', boot, 'must be less than 1'));
  if (tailLines !== undefined && (tailLines < 0 || tailLines > MAX_TAIL_LINES)) {
    problems.push(invalid('tailLines', tailLines, `must be between 0 and ${MAX_TAIL_LINES}, inclusive`));
  }
  const problem = pattern === undefined ? undefined : patternProblem(pattern);
  if (pattern !== undefined && problem !== undefined) problems.push(invalid('pattern', pattern, problem));
  return problems;
}

function time(query: URLSearchParams, name: 'sinceTime' | 'untilTime', problems: string[]): NodeLogQueryOptions {
  const value = query.get(name) ?? '';
  if (value === '') return {};
  const [, date] = RFC3339.exec(value) ?? [];
  // `Date.parse` alone would accept a day that the month does not have, such as February 30.
  const isDay = date !== undefined && isCalendarDay(date);
  if (isDay) return { [name]: value };
  problems.push(invalid(name, value, 'invalid time format'));
  return {};
}

function isCalendarDay(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

function number(query: URLSearchParams, name: 'boot' | 'tailLines', problems: string[]): NodeLogQueryOptions {
  const value = query.get(name) ?? '';
  if (value === '') return {};
  const isNumber = /^[+-]?\d+$/.test(value);
  if (isNumber && Number.isSafeInteger(Number(value))) return { [name]: Number(value) };
  const problem = isNumber ? 'value out of range' : 'invalid syntax';
  problems.push(invalid(name, value, `strconv.Atoi: parsing ${JSON.stringify(value)}: ${problem}`));
  return {};
}

/**
 * Converts a time to milliseconds since the Unix epoch.
 * @param value a valid RFC 3339 time
 */
export function timeMs(value: string): number {
  return Date.parse(value.replace(',', '.'));
}

function invalid(field: string, value: unknown, detail: string): string {
  return `${field}: Invalid value: ${JSON.stringify(value)}: ${detail}`;
}
