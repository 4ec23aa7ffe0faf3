import { chmod, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '@node-agent/pod-spec';
import { Containerd, type Found } from '@node-agent/tools-containerd';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { removeDirectory } from '../remove-directory.ts';
import { script, TestNode } from './test-node.ts';

const TIMEOUT_MS = 120_000;

/** Capability bits by name. */
const CAPABILITIES = { CHOWN: 0, NET_BIND_SERVICE: 10, NET_ADMIN: 12, SYS_ADMIN: 21 } as const;

/**
 * Registers tests of security contexts, as /proc shows them in containers, with a real kubelet on a real containerd.
 */
export function securitySuite(title: string, found: Found, subnet: string): void {
  if ('reason' in found) {
    test(`${title} applies security contexts`, (context) => context.skip(found.reason));
    return;
  }
  const hasUserNamespaces = !found.binaries.version.startsWith('1.');
  describe(`security contexts on ${title}`, { timeout: TIMEOUT_MS }, () => {
    let directory = '';
    let containerd: Containerd;
    let node: TestNode;

    beforeAll(async () => {
      directory = await mkdtemp('/tmp/na-e2e-');
      // Root of a user namespace is an unprivileged user on the host, but must reach its root file system.
      await chmod(directory, 0o711);
      containerd = new Containerd({ binaries: found.binaries, directory: join(directory, 'c'), subnet });
      await containerd.start();
      node = new TestNode({ directory, endpoint: containerd.endpoint });
      await node.start();
    }, TIMEOUT_MS);

    afterAll(async () => {
      await node?.kill('SIGTERM');
      await containerd?.stop();
      await removeDirectory(directory);
    }, TIMEOUT_MS);

    const log = async (pod: Pod, container: string): Promise<string> => {
      const { namespace, name, uid } = pod.metadata;
      const text = await readFile(join(node.podLogs, `${namespace}_${name}_${uid}`, container, '0.log'), 'utf8');
      return text.replaceAll(/^\S+ (stdout|stderr) [FP] /gm, '');
    };

    /** Runs a script once in a container and returns its output, including errors. */
    const said = async (
      name: string,
      text: string,
      securityContext: object = {},
      spec: object = {},
    ): Promise<string> => {
      await node.write({
        name,
        spec: { restartPolicy: 'Never', containers: [script('c', `exec 2>&1; ${text}`, { securityContext })], ...spec },
      });
      const pod = await node.podUntil(name, ({ status }) => status?.containerStatuses?.[0]?.state?.terminated != null);
      const text_ = await log(pod, 'c');
      await node.remove(name);
      return text_;
    };

    const statusOf = (text: string, field: string): string =>
      new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(text)?.[1] ?? '';
    const has = (mask: string, bit: number): boolean => ((BigInt(`0x${mask}`) >> BigInt(bit)) & 1n) === 1n;

    /** Returns the message of the waiting state or event of a pod that cannot start. */
    const waitsWith = async (name: string, reason: string): Promise<string> => {
      const pod = await node.podUntil(
        name,
        ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === reason,
      );
      return pod.status?.containerStatuses?.[0]?.state?.waiting?.message ?? '';
    };

    test('users and groups come from the container, else from the pod, else from the image', async () => {
      const pods = {
        securityContext: { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000], fsGroup: 4000 },
      };
      const text = 'id -u; id -g; id -G';
      expect((await said('image', text)).trim().split('\n')).toEqual(['0', '0', '0']);
      const [uid, gid, groups = ''] = (await said('pods', text, {}, pods)).trim().split('\n');
      expect([uid, gid]).toEqual(['1000', '2000']);
      expect(new Set(groups.split(' '))).toEqual(new Set(['2000', '3000', '4000']));
      const own = (await said('own', text, { runAsUser: 1001, runAsGroup: 0 }, pods)).trim().split('\n');
      expect(own.slice(0, 2)).toEqual(['1001', '0']);
    });

    test('runAsNonRoot rejects a container whose image runs as root, and accepts another user', async () => {
      await node.write({
        name: 'root',
        spec: { containers: [script('c', 'sleep 60', { securityContext: { runAsNonRoot: true } })] },
      });
      expect(await waitsWith('root', 'CreateContainerConfigError')).toMatch(
        /^container has runAsNonRoot and image will run as root \(pod: "root-e2e_default\(\S+\)", container: c\)$/,
      );
      await node.remove('root');
      expect((await said('user', 'id -u', { runAsNonRoot: true, runAsUser: 7 })).trim()).toBe('7');
    });

    test('adds and drops capabilities, and adds all capabilities to a privileged container', async () => {
      const caps = async (name: string, context: object): Promise<string> =>
        statusOf(await said(name, 'cat /proc/self/status', context), 'CapBnd');
      const usual = await caps('usual', {});
      expect([has(usual, CAPABILITIES.CHOWN), has(usual, CAPABILITIES.NET_ADMIN)]).toEqual([true, false]);
      const some = await caps('some', { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } });
      expect(BigInt(`0x${some}`)).toBe(1n << BigInt(CAPABILITIES.NET_ADMIN));
      expect(has(await caps('privileged', { privileged: true }), CAPABILITIES.SYS_ADMIN)).toBe(true);
    });

    test('allowPrivilegeEscalation: false sets no_new_privs, and readOnlyRootFilesystem makes the root read-only', async () => {
      const status = await said('nnp', 'cat /proc/self/status', { allowPrivilegeEscalation: false });
      expect(statusOf(status, 'NoNewPrivs')).toBe('1');
      expect(statusOf(await said('npriv', 'cat /proc/self/status'), 'NoNewPrivs')).toBe('0');
      const readOnly = await said('ro', 'echo x > /tmp/x || echo refused; cat /proc/mounts', {
        readOnlyRootFilesystem: true,
      });
      expect(readOnly).toContain('refused');
      expect(readOnly).toMatch(/^\S+ \/ \S+ ro[, ]/m);
    });

    test("seccomp is unconfined by default, or uses the runtime's profile or a profile of the node", async () => {
      const mode = async (name: string, context: object): Promise<string> =>
        statusOf(await said(name, 'cat /proc/self/status', context), 'Seccomp');
      expect(await mode('unconfined', {})).toBe('0');
      expect(await mode('default', { seccompProfile: { type: 'RuntimeDefault' } })).toBe('2');
      const profiles = join(node.rootDir, 'seccomp/team');
      await mkdir(profiles, { recursive: true });
      const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [{ names: ['mkdir'], action: 'SCMP_ACT_ERRNO' }] };
      await writeFile(join(profiles, 'no-mkdir.json'), JSON.stringify(profile));
      const localhost = { seccompProfile: { type: 'Localhost', localhostProfile: 'team/no-mkdir.json' } };
      const text = 'mkdir /tmp/d && echo made; grep Seccomp: /proc/self/status';
      const printed = await said('localhost', text, localhost);
      expect(printed).toContain("mkdir: can't create directory");
      expect(printed).not.toContain('made');
      expect(statusOf(printed, 'Seccomp')).toBe('2');
    });

    test('masks parts of /proc or makes them read-only, except with procMount Unmasked', async () => {
      const text = 'head -c1 /proc/timer_list | wc -c; cat /proc/mounts';
      const masked = await said('masked', text);
      expect(masked).toMatch(/^\S+ \/proc\/sys proc ro/m);
      expect(masked).toMatch(/^\S+ \/proc\/timer_list /m);
      expect(masked).toMatch(/^0$/m);
      // Only a pod in a user namespace may use procMount Unmasked.
      if (!hasUserNamespaces) return;
      const unmasked = await said('unmasked', 'cat /proc/mounts', { procMount: 'Unmasked' }, { hostUsers: false });
      expect(unmasked).toMatch(/^proc \/proc proc rw/m);
      expect(unmasked).not.toMatch(/^\S+ \/proc\/(sys|timer_list) /m);
    });

    test("namespaces are the pod's own, shared among its containers, or the host's", async () => {
      const text = 'for n in pid ipc net; do readlink /proc/self/ns/$n; done';
      const own = (await said('own-ns', text)).trim().split('\n');
      const hosts = (await said('host-ns', text, {}, { hostPID: true, hostIPC: true, hostNetwork: true }))
        .trim()
        .split('\n');
      const kernel = ['pid', 'ipc', 'net'];
      for (const [index, kind] of kernel.entries()) {
        expect(own[index]).toMatch(new RegExp(`^${kind}:\\[\\d+\\]$`));
        expect(own[index]).not.toBe(hosts[index]);
      }
      // In a shared PID namespace, the pause process has PID 1.
      const alone = await said('alone', 'echo pid=$$$$');
      expect(alone.trim()).toBe('pid=1');
      expect((await said('together', 'echo pid=$$$$', {}, { shareProcessNamespace: true })).trim()).not.toBe('pid=1');
    });

    test("sets sysctls in the pod's namespaces", async () => {
      const securityContext = { sysctls: [{ name: 'net.ipv4.ip_local_port_range', value: '40000 50000' }] };
      const printed = await said('sysctl', 'cat /proc/sys/net/ipv4/ip_local_port_range', {}, { securityContext });
      expect(printed.trim().split(/\s+/)).toEqual(['40000', '50000']);
    });

    test('a pod with hostUsers: false has its own IDs, also in its volumes, or reports that the runtime does not support them', async () => {
      const volumes = [{ name: 'v', emptyDir: {} }];
      const text =
        'cat /proc/self/uid_map; echo gid; cat /proc/self/gid_map; touch /v/f; stat -c "%u %g" /v/f /etc/hosts';
      const container = script('c', `exec 2>&1; ${text}; sleep 600`, {
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      });
      await node.write({ name: 'userns', spec: { hostUsers: false, volumes, containers: [container] } });
      if (!hasUserNamespaces) {
        const refusal = await node.until('a refusal', async () =>
          (await node.events('userns')).find(({ reason }) => reason === 'FailedCreatePodSandBox'),
        );
        expect(refusal.message).toBe(
          "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
        );
        await node.remove('userns');
        return;
      }
      const pod = await node.running('userns');
      const file = join(node.rootDir, 'pods', pod.metadata.uid, 'userns');
      const { hostId } = JSON.parse(await readFile(file, 'utf8')).uidMappings[0];
      const printed = await node.until('its words', async () => {
        const words = await log(pod, 'c').catch(() => '');
        return words.trim().split('\n').length >= 5 ? words : undefined;
      });
      const [users, word, groups, ...owners] = printed
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/));
      expect(word).toEqual(['gid']);
      for (const map of [users, groups]) expect(map).toEqual(['0', String(hostId), '65536']);
      expect(owners).toEqual([
        ['0', '0'],
        ['0', '0'],
      ]);

      // K1: another kubelet keeps the pod unchanged.
      await node.kill('SIGKILL');
      await node.start();
      const after = await node.running('userns');
      expect(after.status?.containerStatuses?.[0]?.containerID).toBe(pod.status?.containerStatuses?.[0]?.containerID);
      expect(JSON.parse(await readFile(file, 'utf8')).uidMappings[0].hostId).toBe(hostId);
      await node.remove('userns');
    });
  });
}
