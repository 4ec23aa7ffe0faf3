import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock, systemRandom } from '@node-agent/async';
import { nodeFileSystem } from '@node-agent/host';
import { busyboxImage } from './core/image-store.ts';
import { typicalLatencies } from './core/state.ts';
import { FakeRuntime } from './fake-runtime.ts';
import { FakeCriServer } from './fake-server.ts';
import { FakeStreamingServer } from './streaming/streaming-server.ts';

const USAGE = `Usage: fake-cri --listen ENDPOINT [--image NAME]... [--pod-cidr CIDR]... [--instant]

A container runtime in memory that serves CRI v1 over gRPC. Its containers run a small shell and write real log files.
Exec, attach and port-forward are served on a free port of the loopback interface.

  --listen ENDPOINT   unix:///path/of/socket or tcp://host:port
  --image NAME        a local image with the commands of the small shell (any other image can be pulled)
  --pod-cidr CIDR     range of pod IPs, 10.88.0.0/16 by default; a second range enables dual stack
  --instant           complete every operation without delay; by default, durations are typical of a real runtime
  --help              print this help
`;

/**
 * Runs the `fake-cri` command.
 * @returns its exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  let values: ReturnType<typeof parse>;
  try {
    values = parse(args);
  } catch (error) {
    process.stderr.write(`fake-cri: ${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (values.listen === undefined) {
    process.stderr.write(`fake-cri: --listen is missing\n\n${USAGE}`);
    return 2;
  }
  try {
    const runtime = new FakeRuntime(
      { clock: systemClock, random: systemRandom, fs: nodeFileSystem },
      {
        images: (values.image ?? []).map((name) => busyboxImage(name)),
        latencies: values.instant ? {} : typicalLatencies,
        mountpoint: tmpdir(),
        ...(values['pod-cidr'] === undefined ? {} : { podCidrs: values['pod-cidr'] }),
      },
    );
    const server = new FakeCriServer({ runtime }, { endpoint: values.listen });
    const streaming = new FakeStreamingServer({ runtime });
    await streaming.start();
    await server.start();
    process.stdout.write(`fake-cri is listening at ${server.endpoint}\n`);
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
    await server.close();
    await streaming.close();
    return 0;
  } catch (error) {
    process.stderr.write(`fake-cri: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      listen: { type: 'string' },
      image: { type: 'string', multiple: true },
      'pod-cidr': { type: 'string', multiple: true },
      instant: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }).values;
}
