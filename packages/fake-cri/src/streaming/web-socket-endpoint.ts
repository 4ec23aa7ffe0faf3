import type { PortForwardRequest } from '@node-agent/cri-client';
import type { WebSocket } from 'ws';
import type { RuntimeStreams } from '../core/runtime-streams.ts';
import { Channels } from './channels.ts';
import { COMMAND_CHANNELS, channels as numbers, tellsExitCode } from './protocols.ts';
import { type CommandRequest, serveCommand } from './served-command.ts';
import { serveForward } from './served-forward.ts';

/** Time for the client to acknowledge the close of the WebSocket. */
const CLOSE_MS = 1000;

/** Serves exec or attach over WebSocket channels. */
export async function serveCommandByWebSocket(
  runtime: RuntimeStreams,
  asked: CommandRequest,
  socket: WebSocket,
): Promise<void> {
  const { stdin, stdout, stderr } = asked.request;
  const channels = new Channels(socket, socket.protocol, COMMAND_CHANNELS);
  // An empty message tells the client that the connection is established.
  const first = stdout ? numbers.stdout : stderr ? numbers.stderr : numbers.error;
  channels.say(first, new Uint8Array(), () => {});
  await serveCommand(runtime, asked, {
    stdin: stdin ? channels.channel(numbers.stdin) : undefined,
    stdout: stdout ? channels.channel(numbers.stdout) : undefined,
    stderr: stderr ? channels.channel(numbers.stderr) : undefined,
    resize: channels.channel(numbers.resize),
    error: channels.channel(numbers.error),
    tellsExitCode: tellsExitCode(socket.protocol),
    gone: new Promise((resolve) => socket.on('close', () => resolve())),
  });
  close(runtime, socket);
}

/**
 * Serves port-forward over WebSocket channels: two for each port, data and errors. The first message of each channel is
 * the port number.
 */
export async function serveForwardsByWebSocket(
  runtime: RuntimeStreams,
  { podSandboxId, port }: PortForwardRequest,
  socket: WebSocket,
): Promise<void> {
  const channels = new Channels(socket, socket.protocol, 2 * port.length);
  await Promise.all(
    port.map(async (each, index) => {
      const wire = { port: each, data: channels.channel(2 * index), error: channels.channel(2 * index + 1) };
      for (const stream of [wire.data, wire.error]) stream.write(Buffer.of(each & 0xff, each >> 8));
      await serveForward(runtime, podSandboxId, wire);
    }),
  );
  close(runtime, socket);
}

function close(runtime: RuntimeStreams, socket: WebSocket): void {
  socket.close(1000);
  const timer = runtime.clock.setTimer(CLOSE_MS, () => socket.terminate());
  socket.once('close', () => timer.cancel());
  if (socket.readyState === socket.CLOSED) timer.cancel();
}
