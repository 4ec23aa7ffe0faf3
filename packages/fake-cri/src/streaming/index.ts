export type { RuntimeStreams } from '../core/runtime-streams.ts';
export type { StreamKind, StreamRequest } from '../core/stream-requests.ts';
export type { CommandStreams } from '../core/streams.ts';
export type { TerminalSize } from '../process/terminal.ts';
export {
  type CommandStreamsWanted,
  commandOverSpdy,
  commandOverWebSocket,
  portsOverSpdy,
  portsOverWebSocket,
  type RemoteCommand,
  type RemotePort,
  type RemotePorts,
  type StreamClientOptions,
  StreamRefused,
} from './client.ts';
export { exitCodeOf, type StreamStatus } from './stream-status.ts';
export type { StreamingFault, StreamingFaultRule, StreamingFaults } from './streaming-fault.ts';
export { FakeStreamingServer, type FakeStreamingServerOptions } from './streaming-server.ts';
