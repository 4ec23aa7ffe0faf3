import type { DbusHeader, DbusMessage } from './message.ts';

/** A subscription to a signal. Any client of a bus can send a matching signal, unless `sender` is set. */
export interface DbusSubscription {
  readonly interface: string;
  readonly member: string;
  /** Object path of the signal. Default: any object. */
  readonly path?: string;
  /**
   * The required sender, as the bus names it: `org.freedesktop.DBus`, or a unique name such as `:1.7`. Default: any
   * sender.
   */
  readonly sender?: string;
  /** Called for each matching signal. Errors are logged and have no other effect. */
  readonly onSignal: (signal: DbusMessage) => void;
}

/** Returns whether a message is a signal that matches the subscription. */
export function isWanted(header: DbusHeader, { interface: face, member, path, sender }: DbusSubscription): boolean {
  return (
    header.type === 'signal' &&
    header.interface === face &&
    header.member === member &&
    (path === undefined || header.path === path) &&
    (sender === undefined || header.sender === sender)
  );
}
