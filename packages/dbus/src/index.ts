export {
  type ByteStream,
  type DbusCall,
  DbusConnection,
  type DbusConnectionComponents,
  type DbusConnectionOptions,
} from './connection.ts';
export { DbusError, type DbusErrorCode } from './errors.ts';
export type { DbusMessage, DbusMessageType } from './message.ts';
export type { DbusSubscription } from './subscription.ts';
export { type DbusValue, Variant } from './values.ts';
