import { DIAL_TIMEOUT } from './dial.ts';
import { hostAndPort } from './http-request.ts';
import { remoteAlert } from './tls-alerts.ts';

/** Texts of errno codes, as Go and the C library write them. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'broken pipe',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EINVAL: 'invalid argument',
};

/** Target and connection that an error belongs to. */
export interface ErrorContext {
  readonly host: string;
  readonly port: number;
  /** Local and remote address of the connection as `local->remote`. Empty if the connection was not established. */
  readonly ends: string;
}

/**
 * Formats a connection error with the texts of Go's clients. Events of probes and hooks contain these texts, and users
 * search for them.
 */
export function goWords(error: unknown, context: ErrorContext): string {
  if (!(error instanceof Error)) return String(error);
  const { host, port, ends } = context;
  const { code = '', syscall = '', address = host } = error as NodeJS.ErrnoException & { readonly address?: string };
  const isNoName = code === 'ERR_INVALID_ARG_VALUE' || (code === 'EINVAL' && syscall === 'getaddrinfo');
  if (code === 'ENOTFOUND' || isNoName) return `dial tcp: lookup ${host}: no such host`;
  if (code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: server misbehaving`;
  if (code === DIAL_TIMEOUT) return `dial tcp ${hostAndPort(address, port)}: i/o timeout`;
  const words = WORDS[code];
  if (syscall === 'connect' && words !== undefined) return `dial tcp ${hostAndPort(address, port)}: connect: ${words}`;
  if (words !== undefined && (syscall === 'read' || syscall === 'write')) {
    return `${syscall} tcp ${ends}: ${syscall}: ${words}`;
  }
  // Node reports ECONNRESET without a syscall if the peer closes during the TLS handshake; Go reports EOF in this case.
  if (code === 'ECONNRESET') return 'EOF';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return tlsWords(error.message);
  return error.message;
}

function tlsWords(message: string): string {
  const alert = remoteAlert(message);
  if (alert !== undefined) return alert;
  const [, reason] = /SSL routines:[^:]*:([^:]*)/.exec(message) ?? [];
  return `tls: ${reason ?? message}`;
}
