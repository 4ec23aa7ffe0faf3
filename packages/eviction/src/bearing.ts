import type { EventRecorder, Logger } from '@node-agent/telemetry';

/** Calls what must not keep a node from being watched: that it throws is logged. */
export function bear(what: string, call: () => void, logger: Logger): void {
  try {
    call();
  } catch (err) {
    logger.error({ err }, `Eviction manager: ${what} has thrown`);
  }
}

/** A recorder that does not throw. */
export function bearing(recorder: EventRecorder, logger: Logger): EventRecorder {
  return { event: (...event) => bear('the event recorder', () => recorder.event(...event), logger) };
}
