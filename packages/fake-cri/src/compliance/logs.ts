import assert from 'node:assert/strict';
import { type Examination, refused } from './scene.ts';

/**
 * Compliance cases for container logs. CRI's documentation defines the format; the kubelet relies on the other
 * properties.
 */
export const logExaminations: readonly Examination[] = [
  [
    'a log has one line per printed line: time, stream, F, content',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), "echo one; echo two >&2; echo '  three  '; echo");
      const lines = await scene.log(status.logPath);
      for (const line of lines) {
        assert.match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/);
        assert.ok(Math.abs(Date.parse(line.time) - scene.options.now()) < 20_000, line.time);
        assert.equal(line.tag, 'F');
      }
      const of = (stream: string): string[] =>
        lines.filter((line) => line.stream === stream).map((line) => line.content);
      assert.deepEqual(of('stdout'), ['one', '  three  ', '']);
      assert.deepEqual(of('stderr'), ['two']);
    },
  ],
  [
    'final output without a newline is logged as a partial line',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), 'echo whole; echo -n part');
      const lines = await scene.log(status.logPath);
      assert.deepEqual(
        lines.map((line) => [line.tag, line.content]),
        [
          ['F', 'whole'],
          ['P', 'part'],
        ],
      );
    },
  ],
  [
    'a long line is split into partial lines of at most 16 KiB without loss',
    async (scene) => {
      const script = 's=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do s=$s$s; done; echo "$s"end; echo next';
      const status = await scene.ran(await scene.hostSandbox(), script);
      const lines = await scene.log(status.logPath);
      const end = lines.findIndex((line) => line.tag === 'F');
      assert.ok(end >= 2, `the full line follows ${end} partial lines`);
      assert.ok(lines.every((line) => line.content.length <= 16_384));
      const whole = lines.slice(0, end + 1).map((line) => line.content);
      assert.equal(whole.join(''), `${'x'.repeat(32_768)}end`);
      assert.deepEqual([lines.at(-1)?.tag, lines.at(-1)?.content], ['F', 'next']);
    },
  ],
  [
    'a log is written while the container is running',
    async (scene) => {
      const containerId = await scene.shell(await scene.hostSandbox(), 'echo early; sleep 1000');
      const { logPath } = await scene.status(containerId);
      await scene.eventually('the line is in the log', async () => (await scene.log(logPath))[0]);
      assert.equal((await scene.log(logPath))[0]?.content, 'early');
    },
  ],
  [
    'N7: after a log file was renamed and reopened, output continues in a new file without lost or duplicated lines',
    async (scene) => {
      const script = 'i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done';
      const containerId = await scene.shell(await scene.hostSandbox(), script);
      const { logPath } = await scene.status(containerId);
      await scene.eventually('there are lines', async () => (await scene.log(logPath))[3]);
      await scene.options.fs.rename(logPath, `${logPath}.1`);
      await scene.cri.reopenContainerLog({ containerId });
      assert.ok(await scene.options.fs.exists(logPath), 'the new file exists when the call returns');
      await scene.exited(containerId);
      const [old, fresh] = [await scene.log(`${logPath}.1`), await scene.log(logPath)];
      assert.ok(
        old.length >= 4 && fresh.length >= 1,
        `want at least 4 lines in the renamed log and 1 in the new one, got ${old.length} and ${fresh.length}`,
      );
      assert.deepEqual(
        [...old, ...fresh].map((line) => line.content),
        Array.from({ length: 40 }, (_, i) => `line ${i}`),
      );
    },
  ],
  [
    'reopening the log of a container that is not running is rejected',
    async (scene) => {
      const done = await scene.ran(await scene.hostSandbox(), 'exit 0');
      await refused(scene.cri.reopenContainerLog({ containerId: done.id }), { words: /not running/ });
      await refused(scene.cri.reopenContainerLog({ containerId: 'f'.repeat(64) }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'a container without a log path runs and has no log',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), 'echo unheard; exit 4', { logPath: '' });
      assert.deepEqual([status.exitCode, status.logPath], [4, '']);
    },
  ],
  [
    'a container with a terminal logs both streams as stdout',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), 'echo out; echo err >&2', { tty: true });
      assert.deepEqual(
        (await scene.log(status.logPath)).map((line) => [line.stream, line.content.trimEnd()]),
        [
          ['stdout', 'out'],
          ['stdout', 'err'],
        ],
      );
    },
  ],
  [
    'a missing log directory is created',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), 'echo here', { logPath: 'sub/dir/0.log' });
      assert.equal(await scene.output(status), 'here\n');
    },
  ],
  [
    'a container whose log cannot be opened fails to start',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      await scene.options.fs.mkdir(`${sandbox.logDirectory}/taken`);
      const containerId = await scene.created(sandbox, ['true'], { logPath: 'taken' });
      await refused(scene.cri.startContainer({ containerId }), { words: /log file/ });
      assert.equal((await scene.status(containerId)).reason, 'StartError');
    },
  ],
];
