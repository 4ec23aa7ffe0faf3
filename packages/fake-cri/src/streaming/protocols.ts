/** The protocols of exec and attach over SPDY, the best first (`k8s.io/cri-streaming/pkg/streaming/remotecommand`). */
export const COMMAND_PROTOCOLS: readonly string[] = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io'];
/** That of port-forward over SPDY. */
export const FORWARD_PROTOCOLS: readonly string[] = ['portforward.k8s.io'];
/** Of those, the ones that tell an exit code, and a terminal's size. */
export const tellsExitCode = (protocol: string): boolean => /^v[45]\./.test(protocol);
export const tellsSize = (protocol: string): boolean => /^v[345]\./.test(protocol);

/** The headers of HTTP by which SPDY's protocols are agreed on, and those of its streams, in lower case. */
export const PROTOCOL_HEADER = 'X-Stream-Protocol-Version';
export const ACCEPTED_HEADER = 'X-Accepted-Stream-Protocol-Versions';
export const streamHeaders = { type: 'streamtype', port: 'port', requestId: 'requestid' } as const;

/** The channels of exec and attach over WebSocket; `close` says which of them is over, in v5. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export const COMMAND_CHANNELS = 5;

/** How long a client has to open the streams that it asked for, in milliseconds. */
export const STREAM_CREATION_MS = 30_000;
