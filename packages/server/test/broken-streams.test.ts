import { type Random, seededRandom } from '@node-agent/async';
import {
  commandOverSpdy,
  commandOverWebSocket,
  portsOverSpdy,
  portsOverWebSocket,
  type StreamingFault,
} from '@node-agent/fake-cri/streaming';
import { expect, test, vi } from 'vitest';
import { Pki } from './pki.ts';
import { type ServedPod, servedPod, sockets } from './stream-fixture.ts';

/** The client's actions and the runtime's fault, all chosen at random before the client starts. */
interface Plan {
  readonly what: 'exec' | 'attach' | 'portForward';
  readonly way: 'SPDY' | 'WebSocket' | 'translated';
  readonly tty: boolean;
  readonly bytes: number;
  /** When the client disconnects: before the response, at the response, after receiving data, or at the regular end. */
  readonly client: 'early' | 'opened' | 'heard' | 'ends';
  readonly fault: StreamingFault | undefined;
}

function planOf(random: Random): Plan {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)] as T;
  const whole = (limit: number): number => Math.floor(random.next() * limit);
  const faults: readonly (StreamingFault | undefined)[] = [
    undefined,
    { kind: 'break', afterBytes: whole(200_000) },
    { kind: 'break', afterBytes: whole(200) },
    { kind: 'close' },
    { kind: 'nonsense' },
    { kind: 'noise' },
    { kind: 'redirect', location: 'http://10.1.2.3/' },
  ];
  const tty = random.next() < 0.2;
  return {
    what: pick(['exec', 'attach', 'portForward'] as const),
    way: pick(['SPDY', 'WebSocket', 'translated'] as const),
    // With a terminal, fewer bytes are sent, because the terminal echoes every line and the shell runs every line.
    ...{ tty, bytes: 2 + whole(tty ? 200 : 200_000) },
    client: pick(['early', 'opened', 'heard', 'ends'] as const),
    fault: random.next() < 0.5 ? undefined : pick(faults),
  };
}

/** Runs a plan. Resolves when the client's connection is closed. */
async function live({ url }: Pick<ServedPod, 'url'>, { what, way, tty, bytes, client }: Plan): Promise<void> {
  const options = { rejectUnauthorized: false };
  if (what === 'portForward') {
    const ports =
      way === 'SPDY'
        ? await portsOverSpdy(url(what), { ...options, protocols: ['portforward.k8s.io'] })
        : await portsOverWebSocket(url(what), { ...options, protocols: ['SPDY/3.1+portforward.k8s.io'] });
    if (client !== 'early') {
      const { data } = await ports.connect(80);
      data.on('error', () => {});
      data.once('data', () => ports.destroy());
      data.write(Buffer.alloc(bytes));
    }
    if (client === 'early' || client === 'opened') ports.destroy();
    await ports.closed;
    return;
  }
  const wanted = { stdin: true, stdout: true, tty: tty && what === 'exec' };
  const command = what === 'exec' ? `command=${tty ? 'sh' : 'cat'}&tty=${Number(tty)}&` : '';
  const open = way === 'SPDY' ? commandOverSpdy : commandOverWebSocket;
  const version = way === 'translated' ? 'v5' : 'v4';
  const remote = await open(url(what, `${command}input=1&output=1`), wanted, {
    ...{ ...options, protocols: [`${version}.channel.k8s.io`] },
  });
  if (client === 'early' || client === 'opened') {
    if (client === 'opened') remote.stdin?.write(Buffer.alloc(bytes));
    remote.destroy();
  }
  remote.stdout?.on('error', () => {});
  remote.stdout?.once('data', () => {
    // Over a WebSocket protocol before v5, a client cannot end only its input, so nothing would end the stdin of the
    // container.
    if (client !== 'ends' || way === 'WebSocket' || what !== 'exec') remote.destroy();
    // With a terminal, the end of the input does not end the shell.
    else if (tty) remote.stdin?.write('\nexit\n');
    else remote.stdin?.end();
  });
  remote.stdin?.write(Buffer.alloc(bytes, 'x\n'));
  await remote.closed;
}

test('W2: 1,000 runtime streams broken at random points leave neither socket nor process (seed 3)', {
  timeout: 600_000,
}, async () => {
  const random = seededRandom(3);
  await using pki = await Pki.create();
  const serving = await pki.issue({ subject: '/CN=n1', usage: 'serverAuth' });
  const server = await servedPod(serving);
  const { runtime, streaming } = server;
  const before = sockets();
  const outcomes = { ended: 0, failed: 0 };
  for (let round = 0; round < 25; round++) {
    const plans = Array.from({ length: 40 }, () => planOf(random));
    for (const { fault } of plans) if (fault !== undefined) streaming.faults.add({ on: '*', fault, times: 1 });
    const settled = await Promise.allSettled(plans.map((plan) => live(server, plan)));
    for (const { status } of settled) outcomes[status === 'fulfilled' ? 'ended' : 'failed']++;
    streaming.faults.clear();
  }
  // Most streams completed, and many failed, so the faults took effect.
  expect(outcomes.ended).toBeGreaterThan(500);
  expect(outcomes.failed).toBeGreaterThan(100);
  await vi.waitFor(() => expect([streaming.connections, runtime.liveExecs]).toEqual([0, 0]), { timeout: 20_000 });
  await vi.waitFor(() => expect(sockets()).toBe(before), { timeout: 5000 });
  expect(runtime.liveContainers()).toHaveLength(1);
  await server.end();
});
