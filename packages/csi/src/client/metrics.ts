import { type GrpcCode, goCodeName } from '@node-agent/grpc';
import type { Histogram, Metrics } from '@node-agent/telemetry';

/** Records the duration of calls. @param isMigrated whether the volume is the CSI form of an in-tree volume */
export type RecordCall = (method: string, code: GrpcCode | undefined, seconds: number, isMigrated: boolean) => void;

const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** Returns the recorder of a driver's calls (`pkg/volume/util/metrics.go`). */
export function callMetrics(metrics: Metrics, driver: string): RecordCall {
  const seconds: Histogram<'driver_name' | 'method_name' | 'grpc_status_code' | 'migrated'> = metrics.histogram({
    name: 'csi_operations_seconds',
    help: 'Container Storage Interface operation duration with gRPC error code status total',
    labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
    buckets: BUCKETS,
  });
  return (method, code, duration, isMigrated) => {
    const status = code === undefined ? 'OK' : goCodeName(code);
    const labels = { driver_name: driver, method_name: method, grpc_status_code: status, migrated: `${isMigrated}` };
    seconds.observe(labels, duration);
  };
}
