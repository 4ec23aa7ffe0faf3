import type { EventRecorder, Logger } from '@node-agent/telemetry';

/** Calls a callback whose exceptions must not stop the control loop; exceptions are logged. */
export function callGuarded(callback: string, call: () => void, logger: Logger): void {
  try {
    call();
  } catch (err) {
    logger.error({ err }, `Eviction manager: ${callback} has thrown`);
  }
}

/** Wraps a recorder so that its exceptions are logged instead of thrown. */
export function guardedRecorder(recorder: EventRecorder, logger: Logger): EventRecorder {
  return { event: (...event) => callGuarded('the event recorder', () => recorder.event(...event), logger) };
}
