import { type Clock, checkComponents, checkOptions, StartOnce, sleep } from '@node-agent/async';
import { GrpcClient, GrpcError } from '@node-agent/grpc';
import {
  type AttributeValue,
  type EndedSpan,
  LastingProblem,
  type Logger,
  type WithDefaults,
  withDefaults,
} from '@node-agent/telemetry';
import { type ExportResponse, exportRpc } from './export-rpc.ts';
import { nextAttemptMs } from './retry-rule.ts';
import { collectorTarget } from './target.ts';

/** Components of an {@link OtlpExporter}. All are optional. */
export interface OtlpExporterComponents {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export interface OtlpExporterOptions {
  /** Collector: `host:port`, `dns:///host:port` or `unix:///path`. Default: `localhost:4317`. */
  readonly endpoint?: string;
  /** Attributes of the program: `service.name`, `host.name`. */
  readonly resource: Readonly<Record<string, AttributeValue>>;
  /** Name of the instrumentation scope of all spans. */
  readonly scope: string;
}

/** Limits and times as those of OpenTelemetry's batch span processor and OTLP exporter for Go. */
const MAX_QUEUED = 2_048;
const MAX_BATCH = 512;
const BATCH_DELAY_MS = 5_000;
const EXPORT_TIMEOUT_MS = 10_000;
/** Time for the spans that are left when the program ends. */
const LAST_EXPORT_TIMEOUT_MS = 1_000;

/**
 * Sends spans in batches to an OpenTelemetry collector, by OTLP over gRPC without TLS. At most 2,048 spans wait; if the
 * collector is unreachable or slow, further spans are dropped and counted in the log. A batch holds 512 spans and waits for
 * 5 s at most. The connection is opened with the first batch. While no span is recorded, no timer runs.
 */
export class OtlpExporter {
  readonly #components: WithDefaults<OtlpExporterComponents>;
  readonly #options: OtlpExporterOptions;
  readonly #target: string;
  readonly #startOnce = new StartOnce('OtlpExporter');
  readonly #problem: LastingProblem;
  readonly #queue: EndedSpan[] = [];
  #dropped = 0;
  /** Wakes the loop: when the first span of a batch is added, and when a batch is full. */
  #wake: (() => void) | undefined;

  /** @throws OptionsError; Error if the endpoint is not supported */
  constructor(components: OtlpExporterComponents, options: OtlpExporterOptions) {
    checkOptions('OtlpExporter', options, { endpoint: 'string?', resource: 'object', scope: 'string' });
    checkComponents('OtlpExporter', components, {});
    this.#components = withDefaults(components);
    this.#options = options;
    this.#target = collectorTarget(options.endpoint);
    this.#problem = new LastingProblem(this.#components.logger, {
      failed: 'Unable to send traces to the collector; spans are dropped',
      over: 'Sending traces to the collector again',
    });
  }

  /** Number of spans that wait for the next batch. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Queues a span. */
  add(span: EndedSpan): void {
    if (this.#queue.length >= MAX_QUEUED) {
      this.#dropped++;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length === 1 || this.#queue.length === MAX_BATCH) this.#wake?.();
  }

  /**
   * Sends batches until `signal` is aborted, then the spans that are left, for a second at most.
   * @throws AsyncError `AlreadyStarted`
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    const { clock } = this.#components;
    const client = new GrpcClient({ clock }, { target: this.#target });
    try {
      while (!signal.aborted) {
        await this.#woken(signal);
        if (this.#queue.length < MAX_BATCH) await this.#filled(signal);
        if (!signal.aborted) await this.#send(client, signal);
      }
      await this.#sendRest(client);
    } finally {
      client.close();
    }
  }

  /** Resolves when a span is queued, or when `signal` is aborted. */
  async #woken(signal: AbortSignal): Promise<void> {
    if (this.#queue.length > 0) return;
    await this.#untilWoken(signal);
  }

  /** Resolves when a batch is full, after the longest delay of a batch, or when `signal` is aborted. */
  async #filled(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { clock } = this.#components;
    const timer = clock.setTimer(BATCH_DELAY_MS, () => this.#wake?.());
    await this.#untilWoken(signal);
    timer.cancel();
  }

  async #untilWoken(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const onAbort = (): void => resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await promise;
    signal.removeEventListener('abort', onAbort);
    this.#wake = undefined;
  }

  async #send(client: GrpcClient, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    const batch = this.#queue.splice(0, MAX_BATCH);
    if (batch.length === 0) return;
    const startMs = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await this.#export(client, batch, EXPORT_TIMEOUT_MS, signal);
        this.#sent(response);
        return;
      } catch (error) {
        // The batch may have arrived, so it is not sent again with the rest.
        if (signal.aborted) return;
        const { code } = GrpcError.from(error);
        this.#problem.failed(error);
        const delayMs = nextAttemptMs(code, attempt, clock.monotonic() - startMs);
        if (delayMs === undefined) {
          this.#dropped += batch.length;
          return;
        }
        await sleep(clock, delayMs, signal).catch(() => {});
      }
    }
  }

  /**
   * Sends the spans that are still queued at the stop. Stops at the first failure, or when the time limit is reached.
   */
  async #sendRest(client: GrpcClient): Promise<void> {
    const { clock } = this.#components;
    const endMs = clock.monotonic() + LAST_EXPORT_TIMEOUT_MS;
    try {
      while (this.#queue.length > 0) {
        await this.#export(client, this.#queue.splice(0, MAX_BATCH), Math.max(1, endMs - clock.monotonic()));
      }
    } catch (err) {
      this.#components.logger.debug({ err }, 'Dropped the spans that were queued at the stop');
    }
  }

  #export(
    client: GrpcClient,
    spans: readonly EndedSpan[],
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<ExportResponse> {
    const { resource, scope } = this.#options;
    return client.unary(exportRpc, { resource, scope, spans }, { timeoutMs, signal });
  }

  #sent({ rejectedSpans, message }: ExportResponse): void {
    const { logger } = this.#components;
    this.#problem.over();
    if (this.#dropped > 0) logger.warn({ spans: this.#dropped }, 'Dropped spans while the collector was not reachable');
    this.#dropped = 0;
    if (rejectedSpans > 0 || message !== '') {
      logger.debug({ rejectedSpans, message }, 'The collector did not accept all spans');
    }
  }
}
