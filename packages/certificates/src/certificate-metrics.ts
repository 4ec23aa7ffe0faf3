import type { Counter, Gauge, Histogram, Metrics } from '@node-agent/telemetry';
import type { CertificatePurpose } from './usages.ts';

/** The metrics of one certificate. */
export interface CertificateMetrics {
  readonly failures: Counter;
  readonly ttlSeconds: Gauge;
  /**
   * Time for which the previous certificate was in use. As in upstream, this metric exists only for serving
   * certificates.
   */
  readonly rotationSeconds: Histogram | undefined;
}

const ROTATION_BUCKETS = [60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000];

/**
 * Registers upstream's metrics (`pkg/kubelet/certificate/kubelet.go`, `cmd/kubelet/app/server.go`), whose names follow
 * no common scheme.
 */
export function certificateMetrics(metrics: Metrics, purpose: CertificatePurpose): CertificateMetrics {
  const failures = metrics.counter({
    name:
      purpose === 'client'
        ? 'kubelet_certificate_manager_client_expiration_renew_errors'
        : 'kubelet_server_expiration_renew_errors',
    help: 'Counter of certificate renewal errors.',
  });
  const noun = purpose === 'client' ? 'client certificate' : 'serving certificate';
  return {
    failures,
    ttlSeconds: metrics.gauge({
      name: `kubelet_certificate_manager_${purpose}_ttl_seconds`,
      help: `Seconds until the kubelet's ${noun} expires. Negative if it has expired, +Inf if there is none.`,
    }),
    rotationSeconds:
      purpose === 'client'
        ? undefined
        : metrics.histogram({
            name: 'kubelet_certificate_manager_server_rotation_seconds',
            help: 'Histogram of the number of seconds the previous certificate lived before being rotated.',
            buckets: ROTATION_BUCKETS,
          }),
  };
}
