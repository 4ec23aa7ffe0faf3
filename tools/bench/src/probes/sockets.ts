/**
 * Numbers of TIME_WAIT sockets between clients and a server on the same machine. The side that closes a connection
 * first keeps its socket in TIME_WAIT.
 */
export interface TimeWaits {
  readonly client: number;
  readonly server: number;
}

/** Number of the state TIME_WAIT in hexadecimal (`include/net/tcp_states.h` of the kernel). */
const TIME_WAIT = '06';

/** Counts the TIME_WAIT sockets of a server's port in `/proc/net/tcp`. */
export function timeWaits(text: string, serverPort: number): TimeWaits {
  const suffix = `:${serverPort.toString(16).toUpperCase().padStart(4, '0')}`;
  let [client, server] = [0, 0];
  for (const line of text.split('\n').slice(1)) {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    if (state !== TIME_WAIT) continue;
    if (remote.endsWith(suffix)) client += 1;
    else if (local.endsWith(suffix)) server += 1;
  }
  return { client, server };
}
