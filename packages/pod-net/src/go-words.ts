import { DIAL_TIMEOUT } from './dial.ts';
import { hostAndPort } from './http-request.ts';
import { remoteAlert } from './tls-alerts.ts';

/** The kernel's words for the errors of a connection, as Go and the C library have them. */
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

/** What was asked for when an error came up. */
export interface ErrorContext {
  readonly host: string;
  readonly port: number;
  /** `local->remote` of the connection; '' before there was one. */
  readonly ends: string;
}

/** An error of a connection in the words of Go's clients: events of probes and hooks have them, and people look for them. */
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
  // A peer that closed in the middle of a TLS handshake.
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
