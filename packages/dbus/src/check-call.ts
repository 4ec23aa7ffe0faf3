import { DbusError } from './errors.ts';

/** The address of a call. */
interface Address {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly destination?: string;
}

/** The rules of the D-Bus specification, "Valid Names" and "Valid Object Paths". */
const RULES: Readonly<Record<keyof Address, RegExp>> = {
  path: /^\/(?:\w+(?:\/\w+)*)?$/,
  interface: /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/,
  member: /^[A-Za-z_]\w*$/,
  destination: /^(?::[\w-]+(?:\.[\w-]+)+|[A-Za-z_-][\w-]*(?:\.[A-Za-z_-][\w-]*)+)$/,
};
const MAX_NAME_LENGTH = 255;

/**
 * Checks the names of a call. A bus closes the connection, with all calls in progress, if a name is invalid; so such a
 * call is not sent.
 * @throws DbusError `Protocol`, naming the field
 */
export function checkCall({ path, interface: face, member, destination }: Address): void {
  expectName('path', path, Number.POSITIVE_INFINITY);
  expectName('interface', face);
  expectName('member', member);
  // A peer that is not a bus has no name.
  if (destination !== undefined && destination !== '') expectName('destination', destination);
}

function expectName(field: keyof Address, value: string, maxLength = MAX_NAME_LENGTH): void {
  if (value.length <= maxLength && RULES[field].test(value)) return;
  throw new DbusError('Protocol', `${field} ${JSON.stringify(value.slice(0, 80))} of a D-Bus call is invalid`);
}
