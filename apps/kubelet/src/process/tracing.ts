import type { Clock, Random } from '@node-agent/async';
import type { KubeletConfiguration } from '@node-agent/config';
import type { OtlpExporter } from '@node-agent/otlp';
import { type Logger, RecordingTracer, type Tracer } from '@node-agent/telemetry';

/** Instrumentation scope of upstream's spans (`pkg/kubelet/kubelet.go: instrumentationScope`). */
const SCOPE = 'k8s.io/kubernetes/pkg/kubelet';

/** Tracer of the node, and the exporter of the recorded spans. */
export interface NodeTracing {
  readonly tracer: Tracer;
  /** Sends the spans to the collector. The caller must start the exporter. */
  readonly exporter: OtlpExporter;
}

/**
 * Creates the tracer of the configuration's `tracing` (upstream: `cmd/kubelet/app/server.go: newTracerProvider`).
 * Returns `undefined` if the field is absent: then no part of the kubelet gets a tracer, and the exporter's code is not
 * loaded.
 * @throws Error if the endpoint is not supported
 */
export async function nodeTracing(
  settings: KubeletConfiguration['tracing'],
  { clock, random, logger }: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  hostName: string,
): Promise<NodeTracing | undefined> {
  if (settings === undefined) return undefined;
  const { OtlpExporter: Exporter } = await import('@node-agent/otlp');
  const { endpoint, samplingRatePerMillion } = settings;
  const exporter = new Exporter(
    { clock, logger: logger.child({ component: 'tracing' }) },
    {
      ...(endpoint !== undefined && { endpoint }),
      ...{ resource: { 'service.name': 'kubelet', 'host.name': hostName }, scope: SCOPE },
    },
  );
  const tracer = new RecordingTracer(
    { clock, random, exporter },
    samplingRatePerMillion === undefined ? {} : { samplingRatePerMillion },
  );
  return { tracer, exporter };
}
