import { renderTable } from '../table.ts';
import { ageOf } from '../units.ts';

/** The used fields of a v1 Event of the node. */
export interface NodeEvent {
  readonly involvedObject: {
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly fieldPath?: string;
  };
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastTimestamp: string;
}

/** Renders events in the given order. */
export function eventsTable(events: readonly NodeEvent[], nowMs: number): string {
  const rows = events.map(({ involvedObject: object, type, reason, message, count, lastTimestamp }) => [
    `${ageOf(lastTimestamp, nowMs)}${count > 1 ? ` (x${count})` : ''}`,
    ...[type, reason],
    `${object.kind.toLowerCase()}/${object.namespace ? `${object.namespace}/` : ''}${object.name}`,
    message,
  ]);
  return renderTable(['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'], rows);
}
