import type { EventRecorder, Logger } from '@node-agent/telemetry';

/** Calls a callback whose exceptions must not stop the control loop; exceptions are logged. */
export function bear(what: string, call: () => void, logger: Logger): void {
  try {
    call();
  } catch (err) {
    logger.error({ err }, `Eviction manager: ${what} has thrown`);
  }
}

/** Wraps a recorder so that its exceptions are logged instead of thrown. */
export function bearing(recorder: EventRecorder, logger: Logger): EventRecorder {
  return { event: (...event) => bear('the event recorder', () => recorder.event(...event), logger) };
}
