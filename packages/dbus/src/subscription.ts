import type { DbusHeader, DbusMessage } from './message.ts';

/** A signal that somebody wants. Anybody on a bus may send one that looks like it, but for the name of who sends it. */
export interface DbusSubscription {
  readonly interface: string;
  readonly member: string;
  /** Of any object where absent. */
  readonly path?: string;
  /** Who has to send it, as the bus names it: `org.freedesktop.DBus`, or a unique name such as `:1.7`. Anybody where absent. */
  readonly sender?: string;
  /** Told of each that arrives. What it throws is logged, and ends nothing. */
  readonly onSignal: (signal: DbusMessage) => void;
}

/** Whether a message is a signal that is wanted so. */
export function isWanted(header: DbusHeader, { interface: face, member, path, sender }: DbusSubscription): boolean {
  return (
    header.type === 'signal' &&
    header.interface === face &&
    header.member === member &&
    (path === undefined || header.path === path) &&
    (sender === undefined || header.sender === sender)
  );
}
