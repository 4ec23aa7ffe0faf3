import assert from 'node:assert/strict';
import type { Readable } from 'node:stream';
import {
  type CommandStreamsWanted,
  commandOverSpdy,
  commandOverWebSocket,
  portsOverSpdy,
  type RemoteCommand,
  StreamRefused,
} from '../streaming/client.ts';
import { exitCodeOf } from '../streaming/stream-status.ts';
import type { Examination, MadeSandbox, Scene } from './scene.ts';

const COMMAND = { protocols: ['v4.channel.k8s.io'] };
const FORWARD = { protocols: ['portforward.k8s.io'] };

interface Way {
  readonly name: string;
  readonly open: (url: string, wanted: CommandStreamsWanted, options: typeof COMMAND) => Promise<RemoteCommand>;
}

const WAYS: readonly Way[] = [
  { name: 'SPDY', open: commandOverSpdy },
  { name: 'WebSocket', open: commandOverWebSocket },
];

/** Collects the text that a stream delivers from now on. */
function heard(stream: Readable | undefined): { text: string; readonly end: Promise<void> } {
  assert.ok(stream, 'the requested stream must be open');
  const end = Promise.withResolvers<void>();
  const so = { text: '', end: end.promise };
  stream.on('data', (piece: Buffer) => {
    so.text += piece.toString();
  });
  stream.on('end', end.resolve);
  stream.on('close', end.resolve);
  return so;
}

/** Starts a container that sleeps. Skips the case if streams cannot be reached. */
async function sleeper(scene: Scene): Promise<string> {
  return scene.started(await reachable(scene), ['sleep', '1000']);
}

async function reachable(scene: Scene): Promise<MadeSandbox> {
  if (scene.options.streams === false) scene.skip('the streams of the runtime cannot be reached from the test');
  return scene.hostSandbox();
}

async function exec(
  scene: Scene,
  way: Way,
  containerId: string,
  cmd: readonly string[],
  wanted: CommandStreamsWanted,
): Promise<RemoteCommand> {
  const { url } = await scene.cri.exec({ containerId, cmd: [...cmd], ...wanted });
  return way.open(url, wanted, COMMAND);
}

const ofCommands: readonly Examination[] = WAYS.flatMap((way): readonly Examination[] => [
  [
    `exec over ${way.name} delivers stdout, stderr and the exit code separately`,
    async (scene) => {
      const wanted = { stdout: true, stderr: true };
      const cmd = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
      const command = await exec(scene, way, await sleeper(scene), cmd, wanted);
      const [stdout, stderr] = [heard(command.stdout), heard(command.stderr)];
      const outcome = await command.outcome;
      await Promise.all([stdout.end, stderr.end]);
      assert.deepEqual([stdout.text, stderr.text, exitCodeOf(outcome)], ['out\n', 'err\n', 3]);
      assert.match(outcome.message ?? '', /command terminated with non-zero exit code: .*exit code 3/);
      await command.closed;
    },
  ],
  [
    `exec over ${way.name} reports an error if the container does not have the command`,
    async (scene) => {
      const command = await exec(scene, way, await sleeper(scene), ['no-such-program'], { stdout: true });
      const { status, message } = await command.outcome;
      assert.equal(status, 'Failure');
      assert.match(message ?? '', /no-such-program/);
    },
  ],
  [
    `exec over ${way.name} with a terminal sets the size that the client sends`,
    async (scene) => {
      const wanted = { stdin: true, stdout: true, tty: true };
      const command = await exec(scene, way, await sleeper(scene), ['sh'], wanted);
      const stdout = heard(command.stdout);
      command.resize({ columns: 132, rows: 50 });
      await scene.eventually('the terminal has its size', async () => {
        command.stdin?.write('stty size\n');
        return stdout.text.includes('50 132\r\n') || undefined;
      });
      command.stdin?.write('exit 4\n');
      assert.equal(exitCodeOf(await command.outcome), 4);
    },
  ],
]);

/** Compliance cases for exec, attach and port-forward streams. */
export const streamExaminations: readonly Examination[] = [
  ...ofCommands,
  [
    'an exec command reads all input that the client sends, up to its end',
    async (scene) => {
      const wanted = { stdin: true, stdout: true };
      const command = await exec(scene, WAYS[0] as Way, await sleeper(scene), ['cat'], wanted);
      const stdout = heard(command.stdout);
      const sent = 'what goes in comes out\n'.repeat(20_000);
      command.stdin?.end(sent);
      assert.equal(exitCodeOf(await command.outcome), 0);
      await stdout.end;
      assert.ok(stdout.text === sent, `${stdout.text.length} of ${sent.length} bytes`);
    },
  ],
  [
    'a client that attaches gets the output from then on, until the container exits',
    async (scene) => {
      const script = 'echo before; read go; echo after; echo err >&2; exit 5';
      const overrides = { stdin: true, stdinOnce: true };
      const containerId = await scene.shell(await reachable(scene), script, overrides);
      const status = await scene.status(containerId);
      await scene.eventually('the first line', async () => (await scene.output(status)) === 'before\n' || undefined);
      const wanted = { stdin: true, stdout: true, stderr: true };
      const { url } = await scene.cri.attach({ containerId, ...wanted });
      const joined = await commandOverSpdy(url, wanted, COMMAND);
      const [stdout, stderr] = [heard(joined.stdout), heard(joined.stderr)];
      joined.stdin?.write('go\n');
      await Promise.all([stdout.end, stderr.end]);
      assert.deepEqual([stdout.text, stderr.text], ['after\n', 'err\n']);
      assert.equal((await joined.outcome).status, 'Success');
      assert.equal((await scene.exited(containerId)).exitCode, 5);
    },
  ],
  [
    'a forwarded port returns what its container sends, for several connections',
    async (scene) => {
      await reachable(scene);
      const sandbox = await scene.sandbox();
      await scene.started(sandbox, ['nc', '-ll', '-p', '8080', '-e', 'cat']);
      const { url } = await scene.cri.portForward({ podSandboxId: sandbox.id, port: [8080] });
      const ports = await portsOverSpdy(url, FORWARD);
      for (const word of ['first', 'second']) {
        await scene.eventually('an answer', async () => {
          const { data, error } = await ports.connect(8080);
          const [answer, failure] = [heard(data), heard(error)];
          data.write(word);
          // The port may not be served yet.
          await Promise.race([failure.end, scene.eventually('an echo', async () => answer.text === word || undefined)]);
          data.destroy();
          return answer.text === word || undefined;
        });
      }
      ports.destroy();
    },
  ],
  [
    'forwarding to a port that no process serves is rejected, and other ports still work',
    async (scene) => {
      await reachable(scene);
      const sandbox = await scene.sandbox();
      const { url } = await scene.cri.portForward({ podSandboxId: sandbox.id, port: [] });
      const ports = await portsOverSpdy(url, FORWARD);
      for (const port of [81, 82]) {
        const { error } = await ports.connect(port);
        const words = heard(error);
        await words.end;
        assert.match(words.text, new RegExp(`^error forwarding port ${port} to pod .*connection refused`));
      }
      ports.destroy();
    },
  ],
  [
    'a streaming URL is valid once, and only for a protocol that both ends support',
    async (scene) => {
      const containerId = await sleeper(scene);
      const ask = () => scene.cri.exec({ containerId, cmd: ['true'], stdout: true });
      const { url } = await ask();
      await (await commandOverSpdy(url, { stdout: true }, COMMAND)).outcome;
      assert.equal(await refusal(url, COMMAND), 404);
      assert.equal(await refusal((await ask()).url, { protocols: ['v9.channel.k8s.io'] }), 403);
    },
  ],
];

async function refusal(url: string, options: typeof COMMAND): Promise<number> {
  const outcome = await commandOverSpdy(url, { stdout: true }, options).catch((error: unknown) => error);
  assert.ok(StreamRefused.is(outcome), `not refused: ${String(outcome)}`);
  return outcome.status;
}
