import { AsyncError, type Clock, checkNumbers, sleep, withTimeout } from '@node-agent/async';
import type { Logger } from '@node-agent/telemetry';
import { KubeError } from './errors.ts';
import { readStart, readText } from './lines.ts';
import type { RestClientMetrics } from './metrics.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { parseRetryAfter, retryDelayMs } from './retry.ts';
import { errorOfResponse } from './status.ts';
import type { HttpRequest, HttpResponse, HttpTransport } from './transport.ts';
import { Once, parseWarnings } from './warnings.ts';

/** The shortest wait for the client's own rate limit that is logged, in milliseconds. */
const LONG_THROTTLE_MS = 1000;

/** How much of a failed response is read, in bytes: a `Status` is small, and of any other body the start is enough. */
const MAX_FAILURE_BYTES = 1 << 20;

/** The labels that most metrics of requests have. */
type RequestLabels = Readonly<Record<'verb' | 'host', string>>;

/** The components of a {@link Requester}. */
export interface RequesterComponents {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: RestClientMetrics;
  readonly rateLimiter: RateLimiter | undefined;
}

export interface RequesterOptions {
  /** The label `host` of the metrics. */
  readonly host: string;
  /** The timeout of one request including retries, in milliseconds. The wait for the rate limit does not count. */
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** The size limit of a response that is not a watch, in bytes. */
  readonly maxResponseBytes: number;
}

/**
 * Sends requests: applies rate limit, deadline and retries, logs warnings, counts metrics, and converts failed
 * responses into errors.
 */
export class Requester {
  readonly #components: RequesterComponents;
  readonly #options: RequesterOptions;
  readonly #warnings = new Once(256);
  readonly #labels = new Map<string, RequestLabels>();

  constructor(components: RequesterComponents, options: RequesterOptions) {
    checkNumbers(options, { timeoutMs: 'positive', maxRetries: 'count', maxResponseBytes: 'limit' });
    this.#components = components;
    this.#options = options;
  }

  /** Returns the text of a successful response. @throws KubeError */
  async send(request: HttpRequest, signal?: AbortSignal): Promise<string> {
    const { clock, metrics, rateLimiter } = this.#components;
    const labels = this.#labelsOf(request);
    const startMs = clock.monotonic();
    try {
      if (rateLimiter !== undefined) await this.#throttle(rateLimiter, request, signal);
      return await withTimeout(clock, this.#options.timeoutMs, (linked) => this.#attempts(request, linked), signal);
    } catch (error) {
      throw this.#explain(error, request, signal);
    } finally {
      metrics.duration.observe(labels, (clock.monotonic() - startMs) / 1000);
    }
  }

  /**
   * Returns a successful response whose body is streamed. No rate limit, deadline or retry applies. @throws KubeError
   */
  async open(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    try {
      const response = await this.#once({ ...request, stream: true }, signal);
      if (isSuccess(response.status)) return response;
      throw this.#failure(response, request, await readStart(response.body, MAX_FAILURE_BYTES));
    } catch (error) {
      throw this.#explain(error, request, signal);
    }
  }

  async #attempts(request: HttpRequest, signal: AbortSignal | undefined): Promise<string> {
    const { clock, logger, metrics, rateLimiter } = this.#components;
    for (let attempt = 1; ; attempt++) {
      let error: KubeError;
      try {
        return await this.#attempt(request, signal);
      } catch (cause) {
        if (signal?.aborted) throw cause;
        error = KubeError.from(cause);
      }
      const delayMs = retryDelayMs({ method: request.method, error, attempt, maxRetries: this.#options.maxRetries });
      if (delayMs === undefined) throw error;
      logger.debug({ err: error, path: request.path, attempt, delayMs }, 'Request failed; retrying');
      const code = error.httpStatus === undefined ? '<error>' : String(error.httpStatus);
      metrics.retries.inc({ code, verb: request.method, host: this.#options.host });
      await sleep(clock, delayMs, signal);
      if (rateLimiter !== undefined) await this.#throttle(rateLimiter, request, signal);
    }
  }

  async #attempt(request: HttpRequest, signal: AbortSignal | undefined): Promise<string> {
    const { metrics } = this.#components;
    const labels = this.#labelsOf(request);
    metrics.requestSize.observe(labels, Buffer.byteLength(request.body ?? ''));
    const response = await this.#once(request, signal);
    if (!isSuccess(response.status)) {
      const said = await readStart(response.body, MAX_FAILURE_BYTES);
      if (said !== '') metrics.responseSize.observe(labels, Buffer.byteLength(said));
      throw this.#failure(response, request, said);
    }
    const { text, sizeBytes } = await readText(response.body, this.#options.maxResponseBytes);
    metrics.responseSize.observe(labels, sizeBytes);
    return text;
  }

  async #once(request: HttpRequest, signal: AbortSignal | undefined): Promise<HttpResponse> {
    const { transport, metrics } = this.#components;
    let code = '<error>';
    try {
      const response = await transport.request(request, signal);
      code = String(response.status);
      this.#warn(response.headers.warning);
      return response;
    } finally {
      metrics.requests.inc({ code, method: request.method, host: this.#options.host });
    }
  }

  #failure({ status, headers }: HttpResponse, request: HttpRequest, text: string): KubeError {
    const retryAfterMs = parseRetryAfter(headers['retry-after'], this.#components.clock.now());
    return errorOfResponse({ status, text, retryAfterMs }, subjectOf(request));
  }

  async #throttle(rateLimiter: RateLimiter, request: HttpRequest, signal: AbortSignal | undefined): Promise<void> {
    const { clock, logger, metrics } = this.#components;
    const startMs = clock.monotonic();
    await rateLimiter.acquire(signal);
    const waitedMs = clock.monotonic() - startMs;
    metrics.rateLimiterDuration.observe(this.#labelsOf(request), waitedMs / 1000);
    if (waitedMs < LONG_THROTTLE_MS) return;
    logger.debug(
      { waitedMs, method: request.method, path: request.path },
      'Request waited for the client-side rate limit',
    );
  }

  /**
   * Returns the labels of the metrics of a request. The object of a verb is reused: each request needs the labels four
   * times.
   */
  #labelsOf({ method }: HttpRequest): RequestLabels {
    let labels = this.#labels.get(method);
    if (labels === undefined) {
      labels = { verb: method, host: this.#options.host };
      this.#labels.set(method, labels);
    }
    return labels;
  }

  #warn(header: string | undefined): void {
    if (header === undefined) return;
    for (const warning of parseWarnings(header)) {
      if (this.#warnings.first(warning)) this.#components.logger.warn({ warning }, 'API server returned a warning');
    }
  }

  #explain(error: unknown, request: HttpRequest, signal: AbortSignal | undefined): KubeError {
    const subject = subjectOf(request);
    if (signal?.aborted)
      return new KubeError({ code: 'Aborted', message: `${subject}: aborted`, cause: signal.reason });
    if (AsyncError.is(error) && error.code === 'Timeout') {
      const message = `${subject}: no answer within ${this.#options.timeoutMs} ms`;
      return new KubeError({ code: 'DeadlineExceeded', message, cause: error });
    }
    const known = KubeError.from(error);
    if (known.code !== 'ConnectionFailed' && known.code !== 'Unknown') return known;
    if (known === error && known.httpStatus !== undefined) return known;
    return new KubeError({ code: known.code, message: `${subject}: ${known.message}`, cause: known.cause ?? known });
  }
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 206;
}

/** Returns for example `get /api/v1/nodes/a`, without the query, which may be long. */
function subjectOf(request: HttpRequest): string {
  return `${request.method.toLowerCase()} ${request.path.split('?', 1)[0]}`;
}
