import { ConnectionError, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, PROTOCOL_ERROR } from './frame.ts';

const ENABLE_PUSH = 2;
const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const ENABLE_CONNECT_PROTOCOL = 8;
const NO_RFC7540_PRIORITIES = 9;

/** Maximum number of settings in a SETTINGS frame, as in nghttp2. */
const MAX_SETTINGS = 32;

/** The peer's settings that a client without a dynamic HPACK table must respect. */
export interface PeerSettings {
  readonly maxConcurrentStreams: number;
  readonly initialWindowBytes: number;
  readonly maxFrameBytes: number;
  /** Newest values of settings that a peer may change only once: a later change back is a violation. */
  readonly connectProtocol: number;
  readonly noPriorities: number | undefined;
}

/** Settings of HTTP/2 before the peer's first SETTINGS frame. */
export const DEFAULT_SETTINGS: PeerSettings = {
  maxConcurrentStreams: Number.POSITIVE_INFINITY,
  initialWindowBytes: 65_535,
  maxFrameBytes: 16_384,
  connectProtocol: 0,
  noPriorities: undefined,
};

/** Returns the settings after a SETTINGS frame was applied (RFC 9113, section 6.5). @throws ConnectionError */
export function applySettings(before: PeerSettings, payload: Buffer): PeerSettings {
  if (payload.length % 6 !== 0) throw new ConnectionError(FRAME_SIZE_ERROR, 'a SETTINGS frame ends within a setting');
  if (payload.length / 6 > MAX_SETTINGS) throw new ConnectionError(ENHANCE_YOUR_CALM, 'a SETTINGS frame is too long');
  const after = { ...before };
  for (let at = 0; at < payload.length; at += 6) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    const problem = problemOf(after, id, value);
    if (problem !== undefined) throw new ConnectionError(problem, `setting ${id} must not be ${value}`);
    if (id === MAX_CONCURRENT_STREAMS) after.maxConcurrentStreams = value;
    else if (id === INITIAL_WINDOW_SIZE) after.initialWindowBytes = value;
    else if (id === MAX_FRAME_SIZE) after.maxFrameBytes = value;
    else if (id === ENABLE_CONNECT_PROTOCOL) after.connectProtocol = value;
    else if (id === NO_RFC7540_PRIORITIES) after.noPriorities = value;
  }
  return { ...after, noPriorities: after.noPriorities ?? 0 };
}

/** Returns the error code for a value that a server must not send, or `undefined` for an allowed value. */
function problemOf({ connectProtocol, noPriorities }: PeerSettings, id: number, value: number): number | undefined {
  switch (id) {
    case ENABLE_PUSH:
      return value === 0 ? undefined : PROTOCOL_ERROR;
    case INITIAL_WINDOW_SIZE:
      return value > 0x7fff_ffff ? FLOW_CONTROL_ERROR : undefined;
    case MAX_FRAME_SIZE:
      return value < 16_384 || value > 0xff_ffff ? PROTOCOL_ERROR : undefined;
    case ENABLE_CONNECT_PROTOCOL:
      return value > 1 || value < connectProtocol ? PROTOCOL_ERROR : undefined;
    case NO_RFC7540_PRIORITIES:
      return value > 1 || value !== (noPriorities ?? value) ? PROTOCOL_ERROR : undefined;
    default:
      return undefined;
  }
}
