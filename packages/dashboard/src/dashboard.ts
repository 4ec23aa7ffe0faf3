import { type Clock, checkComponents, checkOptions } from '@node-agent/async';
import { findContainer, type Pod } from '@node-agent/pod-spec';
import { type Logger, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { eventStream } from './feed/event-stream.ts';
import { NodeFeed } from './feed/node-feed.ts';
import { parsePosition } from './feed/sse.ts';
import { contentSecurityPolicy, pageHtml } from './generated/page.ts';
import { containerLog } from './log-stream.ts';
import type { DashboardNode } from './ports.ts';
import { crossSiteProblem, type FetchHeaders } from './request-problem.ts';

/** Components of {@link Dashboard}. */
export interface DashboardComponents {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly node: DashboardNode;
}

export interface DashboardOptions {
  /** Maximum number of pages that are open at the same time. Default: 16. */
  readonly maxPages?: number;
  /** Maximum number of logs that are read at the same time. Default: 16. */
  readonly maxLogs?: number;
  /** Interval at which pods are read while a page is open, in ms. Default: 1000. */
  readonly podPeriodMs?: number;
  /** Interval at which usage and node facts are read while a page is open, in ms. Default: 5000. */
  readonly usagePeriodMs?: number;
  /** Maximum time without an event in the stream, in ms. Default: 15,000. */
  readonly beatMs?: number;
}

/** A request to the dashboard. The caller has authenticated and authorized it. */
export interface DashboardRequest {
  /** The last segment of the dashboard's root. */
  readonly root: string;
  /**
   * The segments of the path below the dashboard's root. The list is empty without a trailing slash, and `['']` for the
   * page.
   */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: FetchHeaders;
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** A response with a body, or with a stream that is read only as fast as the client receives it. */
export type DashboardAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
} & ({ readonly body: string } | { readonly stream: AsyncIterable<Uint8Array> });

/** Headers of every response. */
const COMMON: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};
const PAGE_HEADERS = {
  ...COMMON,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': contentSecurityPolicy,
};
const STREAM_HEADERS = { ...COMMON, 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" };
const LINGER_MS = 30_000;
const READ_TIMEOUT_MS = 15_000;

/**
 * A page about one node, and the data of the page. The dashboard only reads. The dashboard is independent of a server:
 * the caller passes GET requests whose path is below the dashboard's root.
 *
 * - `` (no slash): redirects to the page
 * - `/`: the page, one document without other files
 * - `/events?after=ID&pod=NAMESPACE/NAME`: the state of the node as server-sent events
 * - `/log?pod=NAMESPACE/NAME&container=NAME&previous=&tail=N`: the log of a container, followed
 */
export class Dashboard {
  readonly #components: WithDefaults<DashboardComponents>;
  readonly #options: Required<DashboardOptions>;
  readonly #feed: NodeFeed;
  #logs = 0;

  /** @throws OptionsError naming the invalid component or option */
  constructor(given: DashboardComponents, options: DashboardOptions = {}) {
    const asked = checkOptions('Dashboard', options, {
      maxPages: 'positive?',
      maxLogs: 'positive?',
      podPeriodMs: 'positive?',
      usagePeriodMs: 'positive?',
      beatMs: 'positive?',
    });
    checkComponents('Dashboard', given, {
      node: ['pods', 'explain', 'problems', 'eviction', 'node', 'stats', 'readLog'],
    });
    const components = withDefaults(given);
    this.#components = components;
    const defaults = { maxPages: 16, maxLogs: 16, podPeriodMs: 1000, usagePeriodMs: 5000, beatMs: 15_000 };
    this.#options = { ...defaults, ...asked };
    const { podPeriodMs, usagePeriodMs } = this.#options;
    const periods = { podPeriodMs, usagePeriodMs, lingerMs: LINGER_MS, readTimeoutMs: READ_TIMEOUT_MS };
    this.#feed = new NodeFeed(components, periods);
  }

  /** Number of pages that are open. While no page is open, nothing is read. */
  get openPages(): number {
    return this.#feed.readers;
  }

  /** Returns the response to a GET request. Never throws because of the request. */
  answer(request: DashboardRequest): DashboardAnswer {
    const [first, ...rest] = request.path;
    // A relative redirect, because the server may be behind a proxy that adds a prefix to the path.
    if (first === undefined) return { ...text(302, ''), headers: { ...COMMON, Location: `${request.root}/` } };
    if (rest.length > 0) return text(404, 'not found\n');
    if (first === '') return { status: 200, headers: PAGE_HEADERS, body: pageHtml };
    if (first !== 'events' && first !== 'log') return text(404, 'not found\n');
    const problem = crossSiteProblem(request.headers);
    if (problem !== undefined) return text(403, `${problem}\n`);
    return first === 'events' ? this.#events(request) : this.#log(request);
  }

  #events({ query, signal }: DashboardRequest): DashboardAnswer {
    const { maxPages, beatMs } = this.#options;
    if (this.#feed.readers >= maxPages) {
      return text(429, `${maxPages} pages are open, which is the maximum\n`, { 'Retry-After': '10' });
    }
    const pod = podOf(query);
    if (pod === 'invalid') return text(400, 'pod: must be NAMESPACE/NAME\n');
    const { clock } = this.#components;
    const reader = this.#feed.join();
    whenAborted(signal, () => reader[Symbol.dispose]());
    const stream = eventStream(reader, { after: parsePosition(query.get('after')), pod }, { clock, beatMs }, signal);
    return { status: 200, headers: { ...STREAM_HEADERS, 'Content-Type': 'text/event-stream' }, stream };
  }

  #log({ query, signal }: DashboardRequest): DashboardAnswer {
    const { maxLogs } = this.#options;
    if (this.#logs >= maxLogs) {
      return text(429, `${maxLogs} logs are being read, which is the maximum\n`, { 'Retry-After': '10' });
    }
    const pod = podOf(query);
    const container = query.get('container') ?? '';
    if (pod === undefined || pod === 'invalid') return text(400, 'pod: must be NAMESPACE/NAME\n');
    const found = this.#findPod(pod.namespace, pod.name);
    if (found === undefined) return text(404, `pod ${JSON.stringify(pod.name)} does not exist\n`);
    if (findContainer(found, container) === undefined) {
      return text(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(pod.name)}\n`);
    }
    const log = containerLog(this.#components.node, found, container, query, signal);
    if (typeof log === 'string') return text(400, `${log}\n`);
    this.#logs += 1;
    whenAborted(signal, () => {
      this.#logs -= 1;
    });
    return { status: 200, headers: { ...STREAM_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' }, stream: log };
  }

  #findPod(namespace: string, name: string): Pod | undefined {
    return this.#components.node
      .pods()
      .find(({ metadata }) => metadata.name === name && (metadata.namespace ?? '') === namespace);
  }
}

function text(status: number, body: string, headers: Readonly<Record<string, string>> = {}): DashboardAnswer {
  return { status, headers: { ...STREAM_HEADERS, 'Content-Type': 'text/plain; charset=utf-8', ...headers }, body };
}

function podOf(query: URLSearchParams): { namespace: string; name: string } | undefined | 'invalid' {
  const given = query.get('pod');
  if (given === null) return undefined;
  const [namespace = '', name = '', ...rest] = given.split('/');
  return namespace === '' || name === '' || rest.length > 0 ? 'invalid' : { namespace, name };
}

function whenAborted(signal: AbortSignal, action: () => void): void {
  if (signal.aborted) action();
  else signal.addEventListener('abort', action, { once: true });
}
