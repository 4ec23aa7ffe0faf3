import assert from 'node:assert/strict';
import type { ContainerConfig, Init } from '@node-agent/cri-client';
import { NamespaceMode } from '@node-agent/cri-client';
import { type Examination, refused, type Scene } from './scene.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

async function sleeper(scene: Scene, overrides: Init<ContainerConfig> = {}): Promise<string> {
  return scene.started(await scene.hostSandbox(), ['sleep', '1000'], overrides);
}

/** Compliance cases for the environment of container processes, and for commands run by exec. */
export const processExaminations: readonly Examination[] = [
  [
    'ExecSync returns a command’s stdout, stderr and exit code separately',
    async (scene) => {
      const containerId = await sleeper(scene);
      const cmd = ['sh', '-c', 'echo out; echo err >&2; exit 3'];
      const { stdout, stderr, exitCode } = await scene.cri.execSync({ containerId, cmd, timeout: 10 });
      assert.deepEqual([decoder.decode(stdout), decoder.decode(stderr), exitCode], ['out\n', 'err\n', 3]);
    },
  ],
  [
    'ExecSync of a successful command returns exit code 0',
    async (scene) => {
      const { exitCode } = await scene.cri.execSync({ containerId: await sleeper(scene), cmd: ['true'] });
      assert.equal(exitCode, 0);
    },
  ],
  [
    'ExecSync of a command that exceeds its timeout returns DEADLINE_EXCEEDED',
    async (scene) => {
      const containerId = await sleeper(scene);
      const before = scene.options.now();
      await refused(scene.cri.execSync({ containerId, cmd: ['sleep', '100'], timeout: 1 }), {
        code: ['DEADLINE_EXCEEDED', 'UNKNOWN'],
        words: /timeout/,
      });
      assert.ok(scene.options.now() - before < 30_000);
    },
  ],
  [
    'ExecSync of a command that the container does not have is rejected',
    async (scene) => {
      const containerId = await sleeper(scene);
      await refused(scene.cri.execSync({ containerId, cmd: ['no-such-program'], timeout: 10 }), {
        words: /no-such-program/,
      });
    },
  ],
  [
    'ExecSync in a container that is not running is rejected',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const created = await scene.created(sandbox, ['sleep', '1000']);
      await refused(scene.cri.execSync({ containerId: created, cmd: ['true'] }), { words: /CONTAINER_CREATED/ });
      const done = await scene.ran(sandbox, 'exit 0');
      await refused(scene.cri.execSync({ containerId: done.id, cmd: ['true'] }), { words: /CONTAINER_EXITED/ });
      await refused(scene.cri.execSync({ containerId: 'f'.repeat(64), cmd: ['true'] }), { code: 'NOT_FOUND' });
    },
  ],
  [
    'a command run by ExecSync ends when its container is killed',
    async (scene) => {
      const containerId = await sleeper(scene);
      const under = scene.cri.execSync({ containerId, cmd: ['sleep', '100'] }).then(
        ({ exitCode }) => exitCode,
        () => 'failed',
      );
      await scene.options.wait(300);
      await scene.cri.stopContainer({ containerId, timeout: 0 });
      assert.ok([137, 'failed'].includes(await under));
    },
  ],
  [
    'a command inside a container can end the container by a signal that the container handles',
    async (scene) => {
      const script = "trap 'exit 12' TERM; echo up; while true; do sleep 0.1; done";
      const containerId = await scene.shell(await scene.hostSandbox(), script);
      await scene.eventually(
        'the handler is set',
        async () => (await scene.output(await scene.status(containerId))) || undefined,
      );
      await scene.cri.execSync({ containerId, cmd: ['kill', '-TERM', '1'], timeout: 10 });
      assert.equal((await scene.exited(containerId)).exitCode, 12);
    },
  ],
  [
    'a process has the environment of its container’s configuration',
    async (scene) => {
      const envs = [
        { key: 'GREETING', value: encoder.encode('hello world') },
        { key: 'EMPTY', value: new Uint8Array() },
        { key: 'QUOTED', value: encoder.encode('a"b\'c$d') },
      ];
      const status = await scene.ran(await scene.hostSandbox(), 'echo "$GREETING"; echo "[$EMPTY]"; echo "$QUOTED"', {
        envs,
      });
      assert.equal(await scene.output(status), 'hello world\n[]\na"b\'c$d\n');
    },
  ],
  [
    'a process has the working directory of its container’s configuration',
    async (scene) => {
      const status = await scene.ran(await scene.hostSandbox(), 'pwd', { workingDir: '/tmp' });
      assert.equal(await scene.output(status), '/tmp\n');
    },
  ],
  [
    'a process has the user and group of its container’s configuration',
    async (scene) => {
      const namespaceOptions = { pid: NamespaceMode.CONTAINER };
      const securityContext = { namespaceOptions, runAsUser: { value: 1234 }, runAsGroup: { value: 5678 } };
      const status = await scene.ran(await scene.hostSandbox(), 'id -u; id -g', { linux: { securityContext } });
      assert.equal(await scene.output(status), '1234\n5678\n');
      if (status.user !== null) {
        assert.deepEqual([status.user.linux?.uid, status.user.linux?.gid], [1234, 5678]);
      }
    },
  ],
  [
    'a container has the host name of its sandbox',
    async (scene) => {
      const status = await scene.ran(await scene.sandbox(), 'hostname; echo $HOSTNAME');
      assert.equal(await scene.output(status), 'compliance-host\ncompliance-host\n');
    },
  ],
  [
    'a container has the DNS configuration of its sandbox',
    async (scene) => {
      const dnsConfig = { servers: ['10.9.8.7'], searches: ['a.example', 'example'], options: ['ndots:5'] };
      const status = await scene.ran(await scene.sandbox({ dnsConfig }), 'cat /etc/resolv.conf');
      assert.deepEqual((await scene.output(status)).trim().split('\n').sort(), [
        'nameserver 10.9.8.7',
        'options ndots:5',
        'search a.example example',
      ]);
    },
  ],
  [
    'a mounted directory shows the host’s files, and files written in it appear on the host',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const hostPath = `${sandbox.logDirectory}/shared`;
      await scene.options.fs.mkdir(hostPath);
      await scene.options.fs.writeFile(`${hostPath}/in`, 'from the host\n');
      const mounts = [{ containerPath: '/shared', hostPath }];
      const status = await scene.ran(sandbox, 'cat /shared/in; echo from inside > /shared/out', { mounts });
      assert.equal(await scene.output(status), 'from the host\n');
      assert.equal(decoder.decode(await scene.options.fs.readFile(`${hostPath}/out`)), 'from inside\n');
    },
  ],
  [
    'a single file can be mounted, as the kubelet mounts termination messages',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const hostPath = `${sandbox.logDirectory}/message`;
      await scene.options.fs.writeFile(hostPath, '');
      const mounts = [{ containerPath: '/dev/termination-log', hostPath }];
      await scene.ran(sandbox, 'echo gone > /dev/termination-log; exit 1', { mounts });
      assert.equal(decoder.decode(await scene.options.fs.readFile(hostPath)), 'gone\n');
    },
  ],
  [
    'writing to a read-only mount fails',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const hostPath = `${sandbox.logDirectory}/fixed`;
      await scene.options.fs.mkdir(hostPath);
      const mounts = [{ containerPath: '/fixed', hostPath, readonly: true }];
      const status = await scene.ran(sandbox, 'echo x > /fixed/file; echo $?', { mounts });
      assert.notEqual((await scene.output(status)).trim(), '0');
      assert.equal(await scene.options.fs.exists(`${hostPath}/file`), false);
    },
  ],
  [
    'writing to a read-only root file system fails, and writing to a writable one succeeds',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      const script = 'echo x > /tmp/file; echo $?';
      const open = await scene.ran(sandbox, script);
      assert.equal(await scene.output(open), '0\n');
      const namespaceOptions = { pid: NamespaceMode.CONTAINER };
      const linux = { securityContext: { namespaceOptions, readonlyRootfs: true } };
      const closed = await scene.ran(sandbox, script, { linux });
      assert.notEqual(await scene.output(closed), '0\n');
    },
  ],
  [
    'files that a container wrote do not appear in the next container',
    async (scene) => {
      const sandbox = await scene.hostSandbox();
      await scene.ran(sandbox, 'echo x > /tmp/file');
      const second = await scene.ran(sandbox, 'cat /tmp/file');
      assert.notEqual(second.exitCode, 0);
    },
  ],
  [
    'Exec, Attach and PortForward return a URL for a running container or ready sandbox',
    async (scene) => {
      const sandbox = await scene.sandbox();
      const containerId = await scene.started(sandbox, ['sleep', '1000']);
      const { url: exec } = await scene.cri.exec({ containerId, cmd: ['sh'], stdout: true });
      const { url: attach } = await scene.cri.attach({ containerId, stdout: true });
      const { url: forward } = await scene.cri.portForward({ podSandboxId: sandbox.id, port: [80] });
      for (const url of [exec, attach, forward]) assert.match(url, /^https?:\/\//);
      assert.equal(new Set([exec, attach, forward]).size, 3);
    },
  ],
  [
    'Exec without any stream, or with both a terminal and stderr, is rejected',
    async (scene) => {
      const containerId = await sleeper(scene);
      await refused(scene.cri.exec({ containerId, cmd: ['sh'] }));
      await refused(scene.cri.exec({ containerId, cmd: ['sh'], tty: true, stdout: true, stderr: true }));
    },
  ],
  [
    'Exec in a container that is not running is rejected',
    async (scene) => {
      const done = await scene.ran(await scene.hostSandbox(), 'exit 0');
      await refused(scene.cri.exec({ containerId: done.id, cmd: ['sh'], stdout: true }));
      await refused(scene.cri.attach({ containerId: done.id, stdout: true }));
    },
  ],
];
