import { DbusError } from './errors.ts';

/** What a call is addressed with. */
interface Address {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly destination?: string;
}

/** As the D-Bus specification has them, "Valid Names" and "Valid Object Paths". */
const RULES: Readonly<Record<keyof Address, RegExp>> = {
  path: /^\/(?:\w+(?:\/\w+)*)?$/,
  interface: /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/,
  member: /^[A-Za-z_]\w*$/,
  destination: /^(?::[\w-]+(?:\.[\w-]+)+|[A-Za-z_-][\w-]*(?:\.[A-Za-z_-][\w-]*)+)$/,
};
const MAX_NAME_LENGTH = 255;

/**
 * A bus ends the connection of whoever calls by a name that is none, and with it all that is under way: such a call is not sent.
 * @throws DbusError `Protocol`, naming the field
 */
export function checkCall({ path, interface: face, member, destination }: Address): void {
  expectName('path', path, Number.POSITIVE_INFINITY);
  expectName('interface', face);
  expectName('member', member);
  // A peer that is no bus has no name to be called by.
  if (destination !== undefined && destination !== '') expectName('destination', destination);
}

function expectName(field: keyof Address, value: string, maxLength = MAX_NAME_LENGTH): void {
  if (value.length <= maxLength && RULES[field].test(value)) return;
  throw new DbusError('Protocol', `${field} ${JSON.stringify(value.slice(0, 80))} of a D-Bus call is invalid`);
}
