/**
 * Protocols of exec and attach over SPDY, in order of preference (`k8s.io/cri-streaming/pkg/streaming/remotecommand`).
 */
export const COMMAND_PROTOCOLS: readonly string[] = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io'];
/** Protocols of port-forward over SPDY. */
export const FORWARD_PROTOCOLS: readonly string[] = ['portforward.k8s.io'];
/**
 * Reports whether a protocol of exec and attach transmits an exit code (`tellsExitCode`) or a terminal size
 * (`tellsSize`).
 */
export const tellsExitCode = (protocol: string): boolean => /^v[45]\./.test(protocol);
export const tellsSize = (protocol: string): boolean => /^v[345]\./.test(protocol);

/** HTTP headers that negotiate SPDY's protocols, and the lower-case headers of its streams. */
export const PROTOCOL_HEADER = 'X-Stream-Protocol-Version';
export const ACCEPTED_HEADER = 'X-Accepted-Stream-Protocol-Versions';
export const streamHeaders = { type: 'streamtype', port: 'port', requestId: 'requestid' } as const;

/** Channel numbers of exec and attach over WebSocket. In v5, a message on `close` names a channel that has ended. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export const COMMAND_CHANNELS = 5;

/** Time for the client to open the streams that it requested, in milliseconds. */
export const STREAM_CREATION_MS = 30_000;
