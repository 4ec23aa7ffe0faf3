import { withDefaults } from '@node-agent/telemetry';
import type { Call, Endpoints } from './call.ts';
import { type Reply, text } from './reply.ts';

/** What `/statusz` tells. */
export interface StatuszFacts {
  /** When the process began, in milliseconds since the Unix epoch. */
  readonly startTimeMs: number;
  /** Of the program. */
  readonly binaryVersion: string;
  /** What runs it: where a component of Go has Go's version. */
  readonly runtimeVersion: string;
  /** Where more is to be seen. */
  readonly paths: readonly string[];
}

/** What {@link zpageEndpoints} shows; what is missing is not served. */
export interface ZpageComponents {
  readonly clock?: { now(): number };
  readonly statusz?: StatuszFacts;
  /** The flags with their values, without secrets. */
  flagz?(): Readonly<Record<string, string>>;
}

const GROUP = 'config.k8s.io';
const VERSIONS: readonly string[] = ['v1alpha1', 'v1beta1'];
const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

/** `/statusz` and `/flagz` of a {@link SecuredServer} (KEP-4827, KEP-4828), as text, or as JSON of a version that is named. */
export function zpageEndpoints(node: ZpageComponents): Endpoints {
  const { statusz, flagz, clock } = withDefaults(node);
  return {
    ...(statusz && { statusz: (call: Call) => answer(call, 'Statusz', statuszFields(statusz, clock.now())) }),
    ...(flagz && { flagz: (call: Call) => answer(call, 'Flagz', { flags: flagz() }) }),
  };
}

/** How a page is wanted: as text, as JSON of a version, or as nothing that there is. */
export type ZpageForm = 'text' | { readonly version: string } | undefined;

/** Reads the `Accept` of a request for a page; JSON must say of which kind and version (`NegotiateOutputMediaType`). */
export function zpageForm(accept: string | undefined, kind: string): ZpageForm {
  if (accept === undefined || accept.trim() === '') return 'text';
  for (const part of accept.split(',')) {
    const [type = '', ...rest] = part.split(';').map((piece) => piece.trim());
    const parameters = new Map(rest.map((parameter) => parameter.split('=', 2) as [string, string | undefined]));
    const version = parameters.get('v') ?? '';
    const isStructured = parameters.has('as') || parameters.has('v') || parameters.has('g');
    if (!isStructured && ['text/plain', 'text/*', '*/*'].includes(type)) return 'text';
    const isKnown = parameters.get('as') === kind && parameters.get('g') === GROUP && VERSIONS.includes(version);
    if (type === 'application/json' && isKnown) return { version };
  }
  return undefined;
}

function answer(call: Call, kind: string, fields: Readonly<Record<string, unknown>>): Reply {
  const form = zpageForm(call.headers.accept, kind);
  if (form === undefined) {
    const json = VERSIONS.map((version) => `application/json;as=${kind};v=${version};g=${GROUP}`).join(', ');
    return text(406, `only the following media types are accepted: text/plain, ${json}\n`);
  }
  if (form === 'text') return text(200, `\nkubelet ${kind.toLowerCase()}\n${WARNING}\n\n${lines(fields)}\n`);
  const object = { kind, apiVersion: `${GROUP}/${form.version}`, metadata: { name: 'kubelet' }, ...fields };
  const old = `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`;
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json', ...(form.version === 'v1alpha1' && { Warning: old }) },
    body: `${JSON.stringify(object)}\n`,
  };
}

function statuszFields(facts: StatuszFacts, nowMs: number): Readonly<Record<string, unknown>> {
  const { startTimeMs, binaryVersion, runtimeVersion, paths } = facts;
  return {
    startTime: new Date(startTimeMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    uptimeSeconds: Math.max(0, Math.floor((nowMs - startTimeMs) / 1000)),
    goVersion: runtimeVersion,
    binaryVersion,
    paths,
  };
}

const LABELS: Readonly<Record<string, string>> = {
  startTime: 'Started',
  uptimeSeconds: 'Up',
  goVersion: 'Runtime version',
  binaryVersion: 'Binary version',
  paths: 'Paths',
};

function lines(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => {
      if (Array.isArray(value)) return [`${LABELS[name] ?? name}: ${value.join(' ')}`];
      if (typeof value !== 'object' || value === null) return [`${LABELS[name] ?? name}: ${value}`];
      return Object.entries(value).map(([flag, set]) => `${flag}: ${set}`);
    })
    .join('\n');
}
