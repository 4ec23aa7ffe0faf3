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

/** How long a wait for the client's own rate limit may be before it is worth a line in the log, in milliseconds. */
const LONG_THROTTLE_MS = 1000;

/** A `Status` is small; of anything else that refuses, the beginning tells. */
const MAX_FAILURE_BYTES = 1 << 20;

/** What a {@link Requester} works with. */
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
  /** For one request with its retries, in milliseconds; the wait for the rate limit does not count. */
  readonly timeoutMs: number;
  readonly maxRetries: number;
  /** What an answer may measure that is no watch. */
  readonly maxResponseBytes: number;
}

/** Sends requests: rate limit, deadline, retries, warnings, metrics, and errors in place of answers that are failures. */
export class Requester {
  readonly #components: RequesterComponents;
  readonly #options: RequesterOptions;
  readonly #warnings = new Once(256);

  constructor(components: RequesterComponents, options: RequesterOptions) {
    checkNumbers(options, { timeoutMs: 'positive', maxRetries: 'count', maxResponseBytes: 'limit' });
    this.#components = components;
    this.#options = options;
  }

  /** The text of a successful answer. @throws KubeError */
  async send(request: HttpRequest, signal?: AbortSignal): Promise<string> {
    const { clock, metrics } = this.#components;
    const labels = { verb: request.method, host: this.#options.host };
    const startMs = clock.monotonic();
    try {
      await this.#throttle(request, signal);
      return await withTimeout(clock, this.#options.timeoutMs, (linked) => this.#attempts(request, linked), signal);
    } catch (error) {
      throw this.#explain(error, request, signal);
    } finally {
      metrics.duration.observe(labels, (clock.monotonic() - startMs) / 1000);
    }
  }

  /** A successful answer whose body comes bit by bit; there is neither rate limit, deadline nor retry. @throws KubeError */
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
    const { clock, logger, metrics } = this.#components;
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
      logger.debug({ err: error, path: request.path, attempt, delayMs }, 'A request failed and is sent again');
      const code = error.httpStatus === undefined ? '<error>' : String(error.httpStatus);
      metrics.retries.inc({ code, verb: request.method, host: this.#options.host });
      await sleep(clock, delayMs, signal);
      await this.#throttle(request, signal);
    }
  }

  async #attempt(request: HttpRequest, signal: AbortSignal | undefined): Promise<string> {
    const { metrics } = this.#components;
    const labels = { verb: request.method, host: this.#options.host };
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

  async #throttle(request: HttpRequest, signal: AbortSignal | undefined): Promise<void> {
    const { rateLimiter, clock, logger, metrics } = this.#components;
    if (rateLimiter === undefined) return;
    const startMs = clock.monotonic();
    await rateLimiter.acquire(signal);
    const waitedMs = clock.monotonic() - startMs;
    metrics.rateLimiterDuration.observe({ verb: request.method, host: this.#options.host }, waitedMs / 1000);
    if (waitedMs < LONG_THROTTLE_MS) return;
    logger.debug(
      { waitedMs, method: request.method, path: request.path },
      "A request waited for the client's rate limit",
    );
  }

  #warn(header: string | undefined): void {
    for (const warning of parseWarnings(header)) {
      if (this.#warnings.first(warning)) this.#components.logger.warn({ warning }, 'The API server warns');
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

/** `get /api/v1/nodes/a`: the query is left out, for it may be long. */
function subjectOf(request: HttpRequest): string {
  return `${request.method.toLowerCase()} ${request.path.split('?', 1)[0]}`;
}
