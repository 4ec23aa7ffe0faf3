import { withDefaults } from '@node-agent/telemetry';
import { type Reply, text } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';

/** The content of `/statusz`. */
export interface StatuszFacts {
  /** When the process started, in milliseconds since the Unix epoch. */
  readonly startTimeMs: number;
  /** The version of the program. */
  readonly binaryVersion: string;
  /** The version of the language runtime. Go components report Go's version. */
  readonly runtimeVersion: string;
  /** Debugging paths of the server that the page lists. */
  readonly paths: readonly string[];
}

/** Components that {@link zpageEndpoints} needs. A page whose component is missing is not served. */
export interface ZpageComponents {
  readonly clock?: { now(): number };
  readonly statusz?: StatuszFacts;
  /** Returns the flags with their values, without secrets. */
  flagz?(): Readonly<Record<string, string>>;
}

const GROUP = 'config.k8s.io';
const STRUCTURED = ['application/json', 'application/yaml'] as const;
const VERSIONS: readonly string[] = ['v1alpha1', 'v1beta1'];
const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

/**
 * Returns the handlers of `/statusz` and `/flagz` of a {@link SecuredServer} (KEP-4827, KEP-4828): as text, or as JSON
 * or YAML of a named version.
 */
export function zpageEndpoints(node: ZpageComponents): Endpoints {
  const { statusz, flagz, clock } = withDefaults(node);
  return {
    ...(statusz && { statusz: (call: Call) => answer(call, 'Statusz', statuszFields(statusz, clock.now())) }),
    ...(flagz && { flagz: (call: Call) => answer(call, 'Flagz', { flags: flagz() }) }),
  };
}

/** The requested format: text, JSON or YAML of a version, or `undefined` if the format is unsupported. */
export type ZpageForm =
  | 'text'
  | { readonly type: 'application/json' | 'application/yaml'; readonly version: string }
  | undefined;

/** Parses the `Accept` header of a page. Structured formats must name kind and version (`NegotiateOutputMediaType`). */
export function zpageForm(accept: string | undefined, kind: string): ZpageForm {
  if (accept === undefined || accept.trim() === '') return 'text';
  for (const part of accept.split(',')) {
    const [type = '', ...rest] = part.split(';').map((piece) => piece.trim());
    const parameters = new Map(rest.map((parameter) => parameter.split('=', 2) as [string, string | undefined]));
    const version = parameters.get('v') ?? '';
    const isStructured = parameters.has('as') || parameters.has('v') || parameters.has('g');
    if (!isStructured && ['text/plain', 'text/*', '*/*'].includes(type)) return 'text';
    const isKnown = parameters.get('as') === kind && parameters.get('g') === GROUP && VERSIONS.includes(version);
    const structured = STRUCTURED.find((one) => one === type);
    if (structured !== undefined && isKnown) return { type: structured, version };
  }
  return undefined;
}

function answer(call: Call, kind: string, fields: Readonly<Record<string, unknown>>): Reply {
  const form = zpageForm(call.headers.accept, kind);
  if (form === undefined) {
    const all = VERSIONS.flatMap((version) => STRUCTURED.map((type) => `${type};as=${kind};v=${version};g=${GROUP}`));
    return text(406, `only the following media types are accepted: text/plain, ${all.join(', ')}\n`);
  }
  if (form === 'text') {
    return text(
      200,
      `\nkubelet ${kind.toLowerCase()}\n${WARNING}\n${kind === 'Flagz' ? flagLines(fields) : statusLines(fields)}`,
    );
  }
  const object = { kind, apiVersion: `${GROUP}/${form.version}`, metadata: { name: 'kubelet' }, ...fields };
  const old = `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`;
  return {
    status: 200,
    headers: { 'Content-Type': form.type, ...(form.version === 'v1alpha1' && { Warning: old }) },
    body: form.type === 'application/yaml' ? yaml(object, '') : `${JSON.stringify(object)}\n`,
  };
}

function statuszFields(facts: StatuszFacts, nowMs: number): Readonly<Record<string, unknown>> {
  const { startTimeMs, binaryVersion, runtimeVersion, paths } = facts;
  return {
    startTime: new Date(startTimeMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    uptimeSeconds: Math.max(0, Math.floor((nowMs - startTimeMs) / 1000)),
    goVersion: runtimeVersion,
    binaryVersion,
    paths: [...paths].sort(),
  };
}

/**
 * Formats the status as text. Upstream picks a random delimiter so that programs do not parse the text; this code uses
 * the first of upstream's delimiters.
 */
function statusLines({
  startTime,
  uptimeSeconds,
  goVersion,
  binaryVersion,
  paths,
}: Readonly<Record<string, unknown>>): string {
  const up = Number(uptimeSeconds);
  const two = (count: number): string => String(count % 60).padStart(2, '0');
  const uptime = `${Math.floor(up / 3600)} hr ${two(Math.floor(up / 60))} min ${two(up)} sec`;
  const all = [
    ['Started', unixDate(new Date(String(startTime)))],
    ['Up', uptime],
    ['Go version', goVersion],
    ['Binary version', binaryVersion],
    ['Paths', Array.isArray(paths) ? paths.join(' ') : ''],
  ];
  return `\n${all.map(([name, value]) => `${name}: ${value}\n`).join('')}`;
}

function flagLines({ flags }: Readonly<Record<string, unknown>>): string {
  const all = Object.entries(typeof flags === 'object' && flags !== null ? flags : {});
  return all
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([flag, value]) => `${flag}=${value}\n`)
    .join('');
}

/** Formats a time as Go's `time.UnixDate` does: `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(at: Date): string {
  const [weekday = '', day = '', month = '', year = '', time = ''] = at.toUTCString().replace(',', '').split(' ');
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}

/** Formats YAML. All strings are quoted, so that none is read as another type. */
function yaml(object: Readonly<Record<string, unknown>>, indent: string): string {
  return Object.entries(object)
    .map(([name, value]) => {
      const key = `${indent}${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}:`;
      if (Array.isArray(value)) return `${key}\n${value.map((one) => `${indent}- ${JSON.stringify(one)}\n`).join('')}`;
      if (typeof value !== 'object' || value === null) return `${key} ${JSON.stringify(value)}\n`;
      return `${key}\n${yaml(value as Readonly<Record<string, unknown>>, `${indent}  `)}`;
    })
    .join('');
}
