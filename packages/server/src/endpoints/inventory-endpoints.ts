import { type Clock, systemClock } from '@node-agent/async';
import type { RecordedEvent } from '@node-agent/telemetry';
import { json } from '../http/reply.ts';
import type { Call, Endpoints } from './call.ts';
import { type ApiList, listReply } from './list-reply.ts';

/** An image of the runtime. */
export interface InventoryImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  /** Whether garbage collection never removes the image. */
  readonly pinned: boolean;
}

/** The components of {@link inventoryEndpoints}. */
export interface InventoryComponents {
  /** The clock of the endpoints. Default: the system clock. */
  readonly clock?: Pick<Clock, 'monotonic' | 'setTimer'>;
  /** Returns the recorded events of the node and its pods. */
  events(): readonly RecordedEvent[];
  /** Returns the images of the runtime. */
  images(signal: AbortSignal): Promise<readonly InventoryImage[]>;
  /** Returns the v1 Node of this node, as the kubelet sees it now. */
  node(signal: AbortSignal): Promise<object>;
}

/**
 * Returns the handlers of `/debug/events`, `/debug/images` and `/debug/node`, which upstream does not have. They answer
 * with a v1 EventList (the oldest event first), a list of images (the largest first), and a v1 Node.
 */
export function inventoryEndpoints(node: InventoryComponents): Endpoints {
  const { clock = systemClock } = node;
  return {
    events: ({ signal }: Call) => listReply(eventList(node.events()), clock, signal),
    images: async ({ signal }: Call) => json({ images: bySize(await node.images(signal)) }),
    node: async ({ signal }: Call) => json(await node.node(signal)),
  };
}

/** Converts recorded events to a v1 EventList, ordered by their last occurrence, oldest first. */
function eventList(events: readonly RecordedEvent[]): ApiList {
  const items = events
    .toSorted((a, b) => a.lastAtMs - b.lastAtMs)
    .values()
    .map(({ object, type, reason, message, count, firstAtMs, lastAtMs }) => ({
      metadata: { name: object.name, namespace: object.namespace || 'default' },
      involvedObject: object,
      ...{ type, reason, message, count },
      firstTimestamp: timestamp(firstAtMs),
      lastTimestamp: timestamp(lastAtMs),
      source: { component: 'kubelet' },
    }));
  return { kind: 'EventList', apiVersion: 'v1', metadata: {}, items };
}

function bySize(images: readonly InventoryImage[]): readonly InventoryImage[] {
  return images.toSorted((a, b) => b.sizeBytes - a.sizeBytes || (a.id < b.id ? -1 : 1));
}

/** Formats a time as the API does, in seconds. */
function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
